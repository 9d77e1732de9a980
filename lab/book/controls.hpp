#pragma once

#include <string>

#include "lessons/lesson.hpp"

namespace lab {

/// The options of a lesson that a reader changes in the book, as JSON: for each its flag, what it means, its
/// kind ("sentences", "text", "switch", "choice", "count", "number", "list"), its value by default and, where
/// it has them, its choices or its smallest value.
std::string controls_of(const lessons::Lesson& lesson);

}  // namespace lab
