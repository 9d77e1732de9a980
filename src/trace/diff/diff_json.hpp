#pragma once

#include <string>

#include "trace/diff/text_diff.hpp"
#include "trace/diff/trace_diff.hpp"

namespace attn {

/// A comparison as one JSON object of the form attnlab.diff/1, which data/README.md describes, on one line.
/// With `all` it lists what agrees too.
std::string diff_as_json(const TraceDiff& diff, bool all);
std::string diff_as_json(const TextDiff& diff, bool all);

}  // namespace attn
