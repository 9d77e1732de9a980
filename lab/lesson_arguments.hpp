#pragma once

#include "lab/arguments.hpp"

namespace CLI {
class App;
}

namespace lab {

/// Adds the options of the lesson; parsing fills `options`, which starts as the lesson's defaults.
void add_lesson_options(CLI::App& app, const lessons::Lesson& lesson, lessons::Options& options);

/// What follows the name of a lesson, which `argv[0]` is.
Command parse_lesson(const lessons::Lesson& lesson, int argc, char** argv);

/// What follows `tour`: its options are declared as a lesson's are.
Command parse_tour(int argc, char** argv);

}  // namespace lab
