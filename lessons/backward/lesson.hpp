#pragma once

#include "lessons/lesson.hpp"

namespace lessons {

const Lesson& backward_lesson();

}  // namespace lessons
