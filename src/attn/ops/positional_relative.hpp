#pragma once

#include "attn/tensor.hpp"

namespace attn {

/// How far key j stands after query i, clip(j − i, −limit, limit), for n tokens: [query×key].
Tensor<std::int64_t, 2> clipped_distances(std::size_t n, std::size_t limit);

/// Scores with relative positions (Shaw et al. 2018, equation 4), and all that they are made of:
/// qᵢ (kⱼ + aᵢⱼ)ᵀ / √d, where aᵢⱼ is the row of `keys` for the clipped distance from i to j.
template <class T>
struct RelativeScores {
  Tensor<std::int64_t, 2> distances;  ///< [query×key]
  Tensor<T, 3> by_distance;           ///< Q keysᵀ, [batch×query×bucket]
  Tensor<T, 3> scores;                ///< [batch×query×key]
};

/// Q and K [batch×n×d]; keys [2·limit+1×d] holds a row for each distance from −limit to limit. Computed as in
/// equation 5: each query meets each row of `keys` once, not once for every pair. Instantiated for float and
/// double. Throws std::invalid_argument where shapes do not match and for an even number of rows.
template <class T>
RelativeScores<T> relative_scores(const Tensor<T, 3>& Q, const Tensor<T, 3>& K, const Tensor<T, 2>& keys);

}  // namespace attn
