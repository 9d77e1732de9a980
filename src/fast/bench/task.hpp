#pragma once

#include <functional>
#include <vector>

#include "fast/bench/setting.hpp"
#include "fast/sparse/problem.hpp"

namespace attn::bench {

/// What a kernel computes at a setting: which keys a query reads and what it makes of them. By this its
/// operations are counted and its results are judged.
struct Task {
  enum class Formula { softmax, linear };

  Setting setting{};  ///< its own: a kernel may be timed with all keys visible where the others hide some
  Formula formula = Formula::softmax;
  std::optional<block_sparse::Pattern> pattern{};

  /// The keys that a query reads, in rising order.
  std::vector<std::size_t> keys_of(std::size_t query) const;

  /// Pairs of a query and a key that it reads, in one head.
  double pairs() const;

  /// Useful multiplications and additions over all heads. For softmax 2 (d_k + d_v) a pair forward, which is
  /// 4 n² d for a head where all keys are visible, and 2 (3 d_k + 2 d_v) a pair backward, 10 n² d: the scores
  /// once more and the four products of the gradients. For linear attention as its kernels count.
  double operations(Pass pass) const;
};

}  // namespace attn::bench
