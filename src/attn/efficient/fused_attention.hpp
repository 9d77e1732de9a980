#pragma once

#include <optional>

#include "attn/tensor.hpp"

namespace attn {

/// softmax(Q Kᵀ / divisor) V in one pass over the keys, with a running maximum and sum, and never the whole
/// n_q × n_k scores (Milakov & Gimelshein 2018; Dao et al. 2022). Plain loops.
///
/// Q [batch…×n_q×d_k], K [batch…×n_k×d_k], V [batch…×n_k×d_v] → [batch…×n_q×d_v]; ranks 3 and 4, where the
/// mask [batch×query×key] holds for every head and its axes of length 1 are repeated. A query that may see
/// nothing gets zeros. Throws std::invalid_argument, with both shapes, where they do not match.
template <std::size_t N>
Tensor<N> fused_attention(const Tensor<N>& Q, const Tensor<N>& K, const Tensor<N>& V,
                             double divisor, const std::optional<Mask<3>>& mask = std::nullopt);

}  // namespace attn
