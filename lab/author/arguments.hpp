#pragma once

#include "lab/arguments.hpp"

namespace lab {

/// What follows `run`: a document, and the options of its lesson.
Command parse_own_lesson(int argc, char** argv);

/// What follows `lesson`: `new NAME` or `check FILE`.
Command parse_author(int argc, char** argv);

}  // namespace lab
