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
template <class T, std::size_t N>
Tensor<T, N> fused_attention(const Tensor<T, N>& Q, const Tensor<T, N>& K, const Tensor<T, N>& V,
                             double divisor, const std::optional<Tensor<bool, 3>>& mask = std::nullopt);

}  // namespace attn
