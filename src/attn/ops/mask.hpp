#pragma once

#include <limits>
#include <vector>

#include "attn/random/random.hpp"
#include "attn/tensor.hpp"

namespace attn {

/// Masks: true where a query may see a key. With n_q queries and n_k keys, query i sits at position
/// i + n_k − n_q, so that the last query sees the last key.

/// [query×key], true where the key's position is not after the query's.
Mask<2> causal_mask(std::size_t n_q, std::size_t n_k);

/// [query×key], true where the key is at most `window` positions away, on either side.
Mask<2> window_mask(std::size_t n_q, std::size_t n_k, std::size_t window);

/// [batch×query×key], true where the key is among the first `lengths[b]` of its sample: keys that are padding
/// are hidden, queries that are padding are not.
Mask<3> padding_mask(const std::vector<std::size_t>& lengths, std::size_t n_q, std::size_t n_k);

/// [batch×query×key]: the same mask for each sample.
Mask<3> repeat_mask(const Mask<2>& mask, std::size_t batch);

/// Whether some query may see no key at all.
bool has_empty_row(const Mask<3>& mask);

/// True where both are. Throws std::invalid_argument where the shapes differ.
Mask<3> both(const Mask<3>& a, const Mask<3>& b);

/// 1 where a weight is kept, 0 where it is dropped: binomial(1, 1 − p) for each element in C order, as
/// `np.random.binomial(1, 1 - p, shape)` draws it. Ranks 1, 3 and 4.
/// Throws std::invalid_argument unless 0 <= p < 1.
template <std::size_t N>
Integers<N> dropout_mask(Random& random, double p,
                         const std::array<std::size_t, N>& shape) requires Rank<N, 1, 4>;

}  // namespace attn
