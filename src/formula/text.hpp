#pragma once

#include <string>

#include "formula/expression.hpp"

namespace formula {

/// As `parse` reads it: `sum(d_k) Q[query, d_k] * K[key, d_k]`, with no parentheses that it can do without. A
/// formula that `parse` made it parses to the same one, unless the text gets too long for it.
std::string text(const Expr& x);
std::string text(const Definition& definition);

/// As pages print it, in Unicode: `Q Kᵀ`, `scores / √d_k`, `softmax(masked)`, `weights V`,
/// `scaled where mask, −∞ elsewhere`. A sum of the products of two tensors is a matrix product where it is
/// one, `hidden · v_a` with a vector; other sums are written Σ with their axis. An index that is a position
/// is left out, and so is the `batch`.
std::string page_text(const Expr& x);

/// MathML of the same, without the `math` element.
std::string mathml(const Expr& x);

}  // namespace formula
