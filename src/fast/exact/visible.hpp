#pragma once

#include <cstddef>

#include "fast/exact/problem.hpp"

namespace attn::exact {

/// The positions begin, …, end − 1; none where begin == end.
struct Range {
  std::size_t begin = 0;
  std::size_t end = 0;

  std::size_t size() const { return end - begin; }
  bool empty() const { return begin == end; }
};

/// What is in both; empty where nothing is.
Range common(const Range& a, const Range& b);

/// The keys that a query of a sample sees. Causality, a window and padding at the end leave them in one run,
/// whose begin and end never fall from one query to the next.
Range visible_keys(const Sizes& sizes, const Visibility& visible, std::size_t sample, std::size_t query);

/// The run of keys outside which no query of the block sees any.
Range visible_keys(const Sizes& sizes, const Visibility& visible, std::size_t sample, const Range& queries);

}  // namespace attn::exact
