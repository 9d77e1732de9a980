#pragma once

#include "lab/arguments.hpp"

namespace lab {

/// What follows `manual` and `completions`, which `argv[0]` is.
Command parse_manual(int argc, char** argv);
Command parse_completions(int argc, char** argv);

}  // namespace lab
