#pragma once

#include <cstddef>

namespace attn::train {

/// How many of what was looked at are right.
struct Share {
  std::size_t right, all;

  /// 0 where nothing was looked at.
  double value() const { return all == 0 ? 0 : static_cast<double>(right) / static_cast<double>(all); }
};

}  // namespace attn::train
