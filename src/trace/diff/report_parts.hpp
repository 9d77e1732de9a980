#pragma once

#include <string>
#include <vector>

#include "trace/diff/option_diff.hpp"

namespace attn {

/// What the two sides of a comparison are called: "0.5 in A, 0.6 in B".
struct DiffNames {
  std::string a = "A";
  std::string b = "B";
};

/// "x in A, y in B".
std::string in_both(const std::string& a, const std::string& b, const DiffNames& names);

/// An error with two digits: "1.1e-16", "0.25", "inf".
std::string format_error(double error);

/// "12 of 36".
std::string format_share(std::size_t part, std::size_t whole);

/// A text in lines of 80 columns, all but the first indented by two, control characters shown.
std::string format_paragraph(const std::string& text);

/// The rows of a table, indented by two, the first two columns to the left and the others to the right. Rows
/// with fewer cells than the first one end with a remark, which takes what room it needs.
std::string format_columns(const std::vector<std::vector<std::string>>& rows);

/// A heading and a line for each option with both values; nothing where there are none.
std::string format_options(const std::vector<OptionDiff>& options, const DiffNames& names);

}  // namespace attn
