#pragma once

#include "lessons/lesson.hpp"

namespace lessons {

/// The probe of the lesson without --through, which is that of its first part, too.
Probe probe_of_backward();

}  // namespace lessons
