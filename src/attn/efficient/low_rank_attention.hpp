#pragma once

#include "attn/efficient/meter.hpp"
#include "attn/tensor.hpp"

namespace attn {

/// Attention to r mixtures of the keys in place of the n keys, and all that it is made of.
struct LowRankAttention {
  Tensor<2> projected_keys;    ///< E K, [r×d_k]
  Tensor<2> projected_values;  ///< F V, [r×d_v]
  Tensor<2> weights;           ///< softmax(Q (E K)ᵀ / √d_k), [query×r]
  Tensor<2> output;            ///< weights (F V), [query×d_v]
};

/// Linformer (Wang et al. 2020, equation 7). Its plain twin is `scaled_dot_product_attention` of Q, E K and
/// F V. Q [query×d_k], K [key×d_k], V [key×d_v], E and F [r×key]. Throws std::invalid_argument, with both
/// shapes, where they do not match.
LowRankAttention low_rank_attention(const Tensor<2>& Q, const Tensor<2>& K, const Tensor<2>& V,
                                       const Tensor<2>& E, const Tensor<2>& F, Meter& meter);

}  // namespace attn
