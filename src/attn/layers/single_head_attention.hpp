#pragma once

#include <optional>

#include "attn/layers/attention.hpp"
#include "attn/tensor.hpp"

namespace attn {

/// The weights of an attention with one head and without an output projection.
struct SingleHeadWeights {
  Tensor<2> W_Q;  ///< [d_model×d_k]
  Tensor<2> W_K;  ///< [d_model×d_k]
  Tensor<2> W_V;  ///< [d_model×d_v]
};

/// Attention(X_query W_Q, X_key W_K, X_key W_V): queries from X_query [batch×query×d_model], keys and values
/// from X_key [batch×key×d_model], which is the same tensor in self-attention. Instantiated for float and
/// double. Throws std::invalid_argument, with both shapes, where they do not match.
Attention<3> single_head_attention(const Tensor<3>& X_query, const Tensor<3>& X_key,
                                      const SingleHeadWeights& weights,
                                      const std::optional<Mask<3>>& mask = std::nullopt,
                                      double temperature = 1.0);

}  // namespace attn
