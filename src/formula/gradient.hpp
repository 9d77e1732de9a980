#pragma once

#include <cstddef>
#include <set>
#include <string>

#include "formula/sheet.hpp"

namespace formula {

/// The name of the gradient of a loss by the tensor `of`: "d_" before the last part of its name. That of
/// `ffn/hidden` is `ffn/d_hidden`.
std::string gradient_name(const std::string& of);

/// The formula of ∂loss/∂`of`, for an entry at the positions along `axes`, of which each stands for one of
/// the axes of `of`: reverse mode through the steps that take it, from the gradients that the sheet has of
/// them, `d_output` of `output`. A step without one is gone through as well. With a `group`, "attention/", it
/// is what comes through the steps of that group alone; where the sheet has that, `attention/d_X` of `X`, it
/// stands for them elsewhere. What comes as it is stands first in a sum. The sheet gets axes of its own where
/// a formula goes over one twice. Where entries tie for a maximum, they share its gradient. Throws Error, at
/// that byte, where no gradient leads to `of`, or the way to it goes through `again`. Source: Linnainmaa
/// 1970; Griewank & Walther 2008, "Evaluating Derivatives", chapter 3. Through a recurrence forwards along an
/// axis it goes as one backwards along it (Werbos 1990): from `h[t - 1]` in a step of t comes that step's
/// gradient at t + 1. So on each way that comes back to the tensor at another place the sheet needs a
/// gradient that it has or will compute with this one, `d_h` of `h` itself or of a step in between; it throws
/// Error where there is none.
Expr gradient(Sheet& sheet, const std::string& of, const Axes& axes, const std::string& group = "",
              std::size_t at = 0);

/// The steps of its recurrence from which `step` follows at another place and which follow from it: their
/// gradients are computed together. None where it is in no recurrence.
std::set<std::string> steps_around(const Sheet& sheet, const std::string& step);

}  // namespace formula
