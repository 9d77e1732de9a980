#pragma once

#include <string>

#include "trace/diff/report_parts.hpp"
#include "trace/diff/trace_diff.hpp"

namespace attn {

/// The index of an element along each axis, by its row-major offset.
std::vector<std::size_t> index_of(const Shape& shape, std::size_t offset);

/// "[query 2 `sat` × key 0 `The`]": the same with the names and labels that one of the traces has for the
/// axes.
std::string name_of_place(const TensorDiff& diff, std::size_t offset);

/// What differs, for people: the lesson and the options, the labels, the first tensor that differs and where,
/// a table of those that differ (with `all` also of those that do not), how many they are. One line where
/// everything is equal within the tolerance, and nothing where everything is equal.
std::string format_diff(const TraceDiff& diff, const DiffNames& names, bool all);

}  // namespace attn
