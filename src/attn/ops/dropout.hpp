#pragma once

#include "attn/random/random.hpp"
#include "attn/tensor.hpp"

namespace attn {

/// 1 where a weight is kept, 0 where it is dropped: binomial(1, 1 − p) for each element in C order, as
/// `np.random.binomial(1, 1 - p, shape)` draws it. Ranks 1, 3 and 4.
/// Throws std::invalid_argument unless 0 <= p < 1.
template <std::size_t N>
Integers<N> dropout_mask(Random& random, double p,
                         const std::array<std::size_t, N>& shape) requires Rank<N, 1, 4>;

}  // namespace attn
