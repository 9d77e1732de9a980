#pragma once

#include <string>

#include "lessons/lesson.hpp"

namespace lab {

/// Which mistakes a lesson's output would hide on these options, and the smallest change that exposes each;
/// which inputs of one shape a program could confuse without a change of the output. The lesson is that of a
/// probe. Throws attn::Error for bad options.
std::string audit(const lessons::Lesson& lesson, const lessons::Options& options);

}  // namespace lab
