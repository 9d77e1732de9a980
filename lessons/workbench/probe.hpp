#pragma once

#include <memory>

#include "lessons/lesson.hpp"

namespace lessons {

/// The lesson with the dimensions of its probe for defaults. Throws attn::Error for a lesson without one.
std::shared_ptr<const Lesson> lesson_of_probe(const Lesson& lesson);

/// The plan of a probe, whose inputs are given. Where the lesson has parts, what the options leave open is as
/// the probe of the part that they pick has it. Throws attn::Error where that part has none.
Plan plan_of_probe(const Lesson& lesson, Options options);

}  // namespace lessons
