#pragma once

#include <optional>

#include "attn/tensor.hpp"

namespace attn {

/// What a single attention starts from.
struct AttentionInputs {
  Tensor<3> Q;                       ///< [batch×query×d_k]
  Tensor<3> K;                       ///< [batch×key×d_k]
  Tensor<3> V;                       ///< [batch×key×d_v]
  std::optional<Mask<3>> mask;  ///< [batch×query×key], true = may be seen
};

/// Scaled dot-product attention (Vaswani et al. 2017, equation 1) and all that it is made of. The axes are
/// [batch×query×key] for a single attention, [batch×head×query×key] for several heads.
template <std::size_t N>
struct Attention {
  Tensor<N> scores;                 ///< Q Kᵀ
  Tensor<N> scaled;                 ///< scores / (√d_k · temperature)
  std::optional<Tensor<N>> masked;  ///< −∞ where the mask is false; only with a mask
  Tensor<N> weights;                ///< softmax over the keys
  Tensor<N> output;                 ///< weights V, [batch…×query×d_v]
};

/// Q [batch…×query×d_k], K [batch…×key×d_k], V [batch…×key×d_v], mask [batch×query×key], true = may be seen.
/// Instantiated for float and double, ranks 3 and 4. Throws std::invalid_argument, with both shapes, where
/// they do not match.
template <std::size_t N>
Attention<N> scaled_dot_product_attention(const Tensor<N>& Q, const Tensor<N>& K,
                                             const Tensor<N>& V,
                                             const std::optional<Mask<3>>& mask = std::nullopt,
                                             double temperature = 1.0);

/// The gradients of a loss with respect to all that attention is made of, in the order in which they follow
/// from that of the output. Each has the shape of what it belongs to.
template <std::size_t N>
struct AttentionGradients {
  Tensor<N> d_V;        ///< weightsᵀ d_output
  Tensor<N> d_weights;  ///< d_output Vᵀ
  Tensor<N> d_scaled;  ///< weights ∘ (d_weights − Σⱼ weights ∘ d_weights); 0 where the mask is false
  Tensor<N> d_scores;  ///< d_scaled / (√d_k · temperature)
  Tensor<N> d_Q;       ///< d_scores K
  Tensor<N> d_K;       ///< d_scoresᵀ Q
};

/// Back through `scaled_dot_product_attention` (Rumelhart et al. 1986): from d_output [batch…×query×d_v], the
/// gradient of a loss with respect to the output, what the forward pass returned and what it was given. The
/// mask is not needed again: a hidden key has weight 0, and a weight of 0 passes no gradient. Same
/// instantiations. Throws std::invalid_argument, with both shapes, where they do not match.
template <std::size_t N>
AttentionGradients<N> scaled_dot_product_attention_backward(const Tensor<N>& d_output,
                                                               const Attention<N>& attention,
                                                               const Tensor<N>& Q, const Tensor<N>& K,
                                                               const Tensor<N>& V,
                                                               double temperature = 1.0);

}  // namespace attn
