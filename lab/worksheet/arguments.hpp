#pragma once

#include "lab/arguments.hpp"

namespace lab {

/// What follows `worksheet`, which `argv[0]` is.
Command parse_worksheet(int argc, char** argv);

/// The command that a worksheet says it was printed by: "attnlab worksheet sdpa --seed 7". Throws attn::Error
/// for another command, and for one that names a file, which a sheet cannot carry.
MakeWorksheet worksheet_of_command(const std::string& command);

}  // namespace lab
