#pragma once

#include "lab/arguments.hpp"

namespace lab {

/// What follows the name of a lesson, which `argv[0]` is.
Command parse_lesson(const lessons::Lesson& lesson, int argc, char** argv);

/// What follows `tour`: its options are declared as a lesson's are.
Command parse_tour(int argc, char** argv);

}  // namespace lab
