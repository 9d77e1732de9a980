#pragma once

#include "lab/arguments.hpp"

namespace lab {

/// What follows `check`, `probe` and `break`, which `argv[0]` is.
Command parse_check(int argc, char** argv);
Command parse_probe(int argc, char** argv);
Command parse_break(int argc, char** argv);

}  // namespace lab
