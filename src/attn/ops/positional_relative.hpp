#pragma once

#include "attn/tensor.hpp"

namespace attn {

/// How far key j stands after query i, clip(j − i, −limit, limit), for n tokens: [query×key].
Integers<2> clipped_distances(std::size_t n, std::size_t limit);

/// Scores with relative positions (Shaw et al. 2018, equation 4), and all that they are made of:
/// qᵢ (kⱼ + aᵢⱼ)ᵀ / √d, where aᵢⱼ is the row of `keys` for the clipped distance from i to j.
struct RelativeScores {
  Integers<2> distances;  ///< [query×key]
  Tensor<3> by_distance;           ///< Q keysᵀ, [batch×query×bucket]
  Tensor<3> scores;                ///< [batch×query×key]
};

/// Q and K [batch×n×d]; keys [2·limit+1×d] holds a row for each distance from −limit to limit. Computed as in
/// equation 5: each query meets each row of `keys` once, not once for every pair. Instantiated for float and
/// double. Throws std::invalid_argument where shapes do not match and for an even number of rows.
RelativeScores relative_scores(const Tensor<3>& Q, const Tensor<3>& K, const Tensor<2>& keys);

}  // namespace attn
