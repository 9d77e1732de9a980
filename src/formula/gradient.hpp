#pragma once

#include <cstddef>
#include <string>

#include "formula/sheet.hpp"

namespace formula {

/// The name of the gradient of a loss by the tensor `of`: "d_" before the last part of its name. That of
/// `ffn/hidden` is `ffn/d_hidden`.
std::string gradient_name(const std::string& of);

/// The formula of ∂loss/∂`of`, for an entry at the positions along the axes of `of`: reverse mode through the
/// steps that take it, from the gradients that the sheet has of them, `d_output` of `output`. A step without
/// one is gone through as well. The sheet gets axes of its own where a formula goes over one twice. Where
/// entries tie for a maximum, they share its gradient. Throws Error, at that byte, where no gradient leads to
/// `of`, or the way to it goes through `again`.
/// Source: Linnainmaa 1970; Griewank & Walther 2008, "Evaluating Derivatives", chapter 3.
Expr gradient(Sheet& sheet, const std::string& of, std::size_t at = 0);

}  // namespace formula
