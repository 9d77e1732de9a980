#pragma once

#include "lab/arguments.hpp"

namespace lab {

/// What follows `book`, which `argv[0]` is.
Command parse_book(int argc, char** argv);

}  // namespace lab
