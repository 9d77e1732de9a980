#pragma once

#include <optional>

#include "attn/layers/attention.hpp"
#include "attn/tensor.hpp"

namespace attn {

/// The weights of multi-head attention. With h query heads and h_kv ≤ h key/value heads.
struct MultiHeadWeights {
  Tensor<2> W_Q;  ///< [d_model × h·d_k]
  Tensor<2> W_K;  ///< [d_model × h_kv·d_k]
  Tensor<2> W_V;  ///< [d_model × h_kv·d_v]
  Tensor<2> W_O;  ///< [h·d_v × d_model]
};

/// Multi-head attention (Vaswani et al. 2017, section 3.2.2; grouped heads: Ainslie et al. 2023) and all that
/// it is made of.
struct MultiHeadAttention {
  Tensor<3> Q, K, V;                    ///< [batch×n×heads·d]
  Tensor<4> Q_heads, K_heads, V_heads;  ///< [batch×head×n×d]; K and V by kv_head
  Attention<4> attention;               ///< [batch×head×query×key]; its output is `heads`
  Tensor<3> concat;                     ///< [batch×query×h·d_v]
  Tensor<3> output;                     ///< [batch×query×d_model]
};

/// Queries from X_query [batch×query×d_model], keys and values from X_key [batch×key×d_model]. Throws
/// std::invalid_argument where shapes or numbers of heads do not match.
MultiHeadAttention multihead_attention(const Tensor<3>& X_query, const Tensor<3>& X_key,
                                          const MultiHeadWeights& weights, std::size_t heads,
                                          std::size_t kv_heads,
                                          const std::optional<Mask<3>>& mask = std::nullopt,
                                          double temperature = 1.0);

}  // namespace attn
