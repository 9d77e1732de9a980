#pragma once

#include <string>

#include "lab/arguments.hpp"

namespace CLI {
class App;
}

namespace lab {

/// --atol and --rtol.
void add_tolerance_options(CLI::App& app, Comparison& comparison, const std::string& group);

/// What follows `diff`, which `argv[0]` is.
Command parse_diff(int argc, char** argv);

}  // namespace lab
