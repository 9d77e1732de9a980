#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "formula/expression.hpp"

namespace formula {

/// Reads an expression: `sum(d_k) Q[query, d_k] * K[key, d_k] / sqrt(d_k)`. Operators stand between blanks,
/// since names may have `/ . = -` in them. `or` binds weakest, then `and`, `not`, comparisons, `+ -`, `/`,
/// `*`, `^`. A minus before an operand binds between `*` and `^`, and belongs to a number that it
/// touches. Functions that leave their axis away (sum, mean, max, min, argmax, log_sum_exp) take the whole
/// product that follows; other functions over an axis take one operand. `sum(a, b) x` is `sum(a) sum(b) x`.
/// `a / b * c` is refused: it asks for parentheses. Throws Error with the byte and what would be valid; at
/// most 64 levels deep, 2,000 operands and operations, and 10,000 bytes long.
Expr parse(std::string_view text);

/// Reads `NAME[axes] = expression` or `NAME = expression`.
Definition parse_definition(std::string_view text);

/// Reads an input's declaration, `NAME[axes]`.
Definition parse_declaration(std::string_view text);

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

/// The line and the column, both from 1 on, of a byte; columns count characters.
struct Place {
  std::size_t line, column;
};
Place place_of(std::string_view text, std::size_t byte);

/// A name with the values of the formulas in it: "hop=1/m" for `hop={hop - 1}/m`. Throws Error for what is no
/// whole number.
std::string with_values(const std::string& name, const std::function<double(const Expr& x)>& value_of);

/// Whether a name has formulas in it.
inline bool has_formulas(std::string_view name) {
  return name.find('{') != name.npos;
}

/// Where the brace closes that opens there, with others in it; npos where none does.
std::size_t closing_brace(std::string_view text, std::size_t open);

}  // namespace formula
