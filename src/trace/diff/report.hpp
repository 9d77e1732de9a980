#pragma once

#include <string>
#include <vector>

#include "trace/diff/text_diff.hpp"
#include "trace/diff/trace_diff.hpp"

namespace attn {

/// What the two sides of a comparison are called: "0.5 in A, 0.6 in B".
struct DiffNames {
  std::string a = "A";
  std::string b = "B";
};

/// A text in lines of 80 columns, all but the first indented by two, control characters shown.
std::string format_paragraph(const std::string& text);

/// The rows of a table, indented by two, the first two columns to the left and the others to the right. Rows
/// with fewer cells than the first one end with a remark, which takes what room it needs.
std::string format_columns(const std::vector<std::vector<std::string>>& rows);

/// "[query 2 `sat` × key 0 `The`]": the same with the names and labels that one of the traces has for the
/// axes.
std::string name_of_place(const TensorDiff& diff, std::size_t offset);

/// What differs, for people: the lesson and the options, the labels, the first tensor that differs and where,
/// a table of those that differ (with `all` also of those that do not), how many they are. One line where
/// everything is equal within the tolerance, and nothing where everything is equal.
std::string format_diff(const TraceDiff& diff, const DiffNames& names, bool all);

/// What may be done about ids that only one trace has, for people; nothing where both have all.
std::string hint_on_absent(const TraceDiff& diff, const DiffNames& names);

/// What differs between two printed traces, for people: the options, the first number, word or line that
/// differs, with its step, its line numbers and both lines, a table of the sections that differ (with `all`
/// also of those that do not), how many they are. One line where everything is equal within the tolerance,
/// and nothing where everything is equal.
std::string format_diff(const TextDiff& diff, const DiffNames& names, bool all);

/// A comparison as one JSON object of the form attnlab.diff/1, which data/README.md describes, on one line.
/// With `all` it lists what agrees too.
std::string diff_as_json(const TraceDiff& diff, bool all);
std::string diff_as_json(const TextDiff& diff, bool all);

}  // namespace attn
