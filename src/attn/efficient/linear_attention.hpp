#pragma once

#include "attn/efficient/meter.hpp"
#include "attn/tensor.hpp"

namespace attn {

/// Attention whose weight for a query and a key is φ(q)ᵀφ(k) / Σⱼ φ(q)ᵀφ(kⱼ), with features φ > 0 in place of
/// the exponential of a score (Katharopoulos et al. 2020). Features come from `elu_plus_one` or
/// `positive_random_features`. phi_Q is [query×feature], phi_K [key×feature], V [key×d_v]. A query
/// whose weights are all 0 gets zeros. All functions throw std::invalid_argument, with both shapes, where
/// they do not match.

/// The product of three matrices from its right end, φ(Q) (φ(K)ᵀ V), which never pairs a query with a key.
struct LinearAttention {
  Tensor<2> S;       ///< [feature×d_v], Σⱼ φ(kⱼ) vⱼᵀ
  Tensor<1> z;       ///< [feature], Σⱼ φ(kⱼ)
  Tensor<2> output;  ///< [query×d_v], φ(q)ᵀ S / φ(q)ᵀ z
};
LinearAttention linear_attention(const Tensor<2>& phi_Q, const Tensor<2>& phi_K,
                                    const Tensor<2>& V, Meter& meter);

/// The same where query i sees the keys 0, …, i only, as a recurrence: S and z grow by one key at a time, and
/// the query reads them before the next key comes. S and z are those after the last key.
LinearAttention causal_linear_attention(const Tensor<2>& phi_Q, const Tensor<2>& phi_K,
                                           const Tensor<2>& V, Meter& meter);

/// The plain twin of both: every weight is computed, those where the mask [query×key] is false are 0, and the
/// rows are divided by their sums.
struct PlainLinearAttention {
  Tensor<2> weights;  ///< [query×key]
  Tensor<2> output;   ///< [query×d_v]
};
PlainLinearAttention plain_linear_attention(const Tensor<2>& phi_Q, const Tensor<2>& phi_K,
                                               const Tensor<2>& V, const Mask<2>& mask);

}  // namespace attn
