#pragma once

#include <optional>

#include "lessons/backward/gradients.hpp"
#include "lessons/sdpa.hpp"

namespace lessons {

/// What scaled dot-product attention has to keep of its forward pass for the backward pass, [batch×n×d] for a
/// single attention and [batch×head×n×d] for several heads, of which fewer may have keys and values.
template <std::size_t N>
struct AttentionKept {
  const Tensor<N>&Q, &K, &V;
  const Tensor<N>& weights;
  const std::optional<Mask<3>>& mask;
  const Tensor<N>* dropped = nullptr;         ///< the weights after dropout, where there was one
  const Integers<N>* dropout_mask = nullptr;  ///< 1 for a weight that was kept
  const Tensor<N>* scaled = nullptr;          ///< for those who take it for the weights: see mistakes.hpp

  /// What the values were mixed with.
  const Tensor<N>& used_weights() const { return dropped != nullptr ? *dropped : weights; }
};

/// The gradients of a loss with respect to all that attention is made of, in the order in which they follow
/// from that of the output. Each has the shape of what it belongs to.
template <std::size_t N>
struct AttentionGradients {
  Tensor<N> d_V, d_weights, d_scaled, d_scores, d_Q, d_K;
};

/// Back through `scaled_dot_product_attention`, step by step, from d_output [batch…×query×d_v], the gradient
/// of a loss with respect to its result. The mask is not needed for the numbers: a hidden key has weight 0,
/// and a weight of 0 passes no gradient. Of several heads the steps are `d_V_heads`, `d_weights`, …. Where
/// weights were dropped out there is the step `d_dropped` before `d_weights`. Ranks 3 and 4. Source: Dao et
/// al. 2022, "FlashAttention", appendix B.2.
template <std::size_t N>
AttentionGradients<N> attention_backward(Workbench& bench, Gradients& gradients, const AttentionKept<N>& kept,
                                         const Tensor<N>& d_output);

/// The claim `gradients-equal-kernel`: the fast kernel gives the same d_Q, d_K and d_V. A note where rounding
/// alone may change more than the hundredth part of them. Ranks 3 and 4.
template <std::size_t N>
void claim_gradients_of_kernel(Workbench& bench, const AttentionKept<N>& kept, const Tensor<N>& d_output,
                               const Tensor<N>& d_Q, const Tensor<N>& d_K, const Tensor<N>& d_V);

}  // namespace lessons
