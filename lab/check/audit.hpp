#pragma once

#include <string>

#include "lessons/lesson.hpp"
#include "trace/diagnosis/diagnosis.hpp"

namespace lab {

/// Which mistakes a lesson's output would hide on these options, and the smallest change that exposes each;
/// which inputs of one shape a program could confuse without a change of the output. The lesson is that of a
/// probe. Throws attn::Error for bad options.
std::string audit(const lessons::Lesson& lesson, const lessons::Options& options);

/// "√d_model and d_k are both 4 here. With d_model = 20 they differ.": why a wrong step may be several
/// mistakes, and the smallest change that tells them apart, as far as there is one. Empty where nothing is to
/// be said.
std::string what_tells_apart(const lessons::Plan& plan, const attn::StepVerdict& step);

}  // namespace lab
