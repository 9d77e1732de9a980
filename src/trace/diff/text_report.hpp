#pragma once

#include <string>

#include "trace/diff/report_parts.hpp"
#include "trace/diff/text_diff.hpp"

namespace attn {

/// What differs between two printed traces, for people: the options, the first number, word or line that
/// differs, with its step, its line numbers and both lines, a table of the sections that differ (with `all`
/// also of those that do not), how many they are. One line where everything is equal within the tolerance,
/// and nothing where everything is equal.
std::string format_diff(const TextDiff& diff, const DiffNames& names, bool all);

}  // namespace attn
