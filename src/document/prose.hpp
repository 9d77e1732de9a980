#pragma once

#include <string_view>

#include "document/document.hpp"

namespace document {

/// Reads prose. Throws Error.
Prose read_prose(const Source& source);

/// Reads a line of a table: `| {each key} share of {token(key)} | {scores:.4f} |`. Throws Error.
Row read_row(const Source& line);

/// Reads a formula, or a condition, which is one that is not 0 where it holds. Throws Error.
formula::Expr read_formula(const Source& source);

/// The same of a text that begins at `place`.
formula::Expr read_formula(const Place& place, std::string_view text);

/// The names of functions that prose calls; all else in braces is a formula.
bool is_call(std::string_view name);

/// Cuts at commas outside of parentheses and brackets, without the blanks around.
std::vector<std::string> cut_at_commas(std::string_view text);

}  // namespace document
