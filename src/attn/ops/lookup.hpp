#pragma once

#include <vector>

#include "attn/tensor.hpp"

namespace attn {

/// A lookup that takes the best key and no other: the limit of softmax(scores / T) values as T → 0.
struct HardLookup {
  std::vector<std::size_t> keys;  ///< those with the best score, in order; one, unless there is a tie
  double best_score = 0.0;
  double gap = 0.0;  ///< from the best score to the next lower one; infinity where there is none
  Tensor<1> output;  ///< [d_v], the best key's value; after a tie the mean of the best keys' values
};

/// Scores [key], values [key×d_v]. Throws std::invalid_argument where they do not have the same keys, or
/// none.
HardLookup hard_lookup(const Tensor<1>& scores, const Tensor<2>& values);

}  // namespace attn
