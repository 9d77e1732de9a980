#pragma once

#include "lab/arguments.hpp"

namespace lab {

/// What follows `bench`, which `argv[0]` is.
Command parse_bench(int argc, char** argv);

}  // namespace lab
