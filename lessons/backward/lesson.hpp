#pragma once

#include "lessons/lesson.hpp"

namespace lessons {

const Lesson& backward_lesson();

/// The part of it that is the document parts/backward_sdpa.md.
const Lesson& backward_through_sdpa();

}  // namespace lessons
