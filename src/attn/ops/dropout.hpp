#pragma once

#include "attn/random/random.hpp"
#include "attn/tensor.hpp"
#include "attn/worked.hpp"

namespace attn {

/// 1 where a weight is kept, 0 where it is dropped: binomial(1, 1 − p) for each element in C order, as
/// `np.random.binomial(1, 1 - p, shape)` draws it. Ranks 1, 3 and 4.
/// Throws std::invalid_argument unless 0 <= p < 1.
template <std::size_t N>
Integers<N> dropout_mask(Random& random, double p,
                         const std::array<std::size_t, N>& shape) requires Rank<N, 1, 4>;

/// weights · mask / (1 − p): inverted dropout (Srivastava et al. 2014), which keeps the expected value.
/// Throws std::invalid_argument unless 0 <= p < 1 and the shapes are equal.
template <std::size_t N>
Tensor<N> dropout(const Tensor<N>& weights, const Integers<N>& mask, double p) requires Rank<N, 1, 4>;

/// weights · mask / (1 − p), worked out; `mask_id` is the mask's id. Ranks 1, 3 and 4.
template <std::size_t N>
WorkedOut worked_dropout(Known<N> weights, std::string mask_id, const Integers<N>& mask,
                         double p) requires Rank<N, 1, 4>;

}  // namespace attn
