#pragma once

#include "lab/arguments.hpp"

namespace lab {

/// What follows `train`, which `argv[0]` is.
Command parse_train(int argc, char** argv);

}  // namespace lab
