#pragma once

#include <optional>
#include <vector>

#include "attn/ops/activation.hpp"
#include "lessons/backward/attention.hpp"
#include "lessons/backward/projections.hpp"
#include "trace/mistake.hpp"

namespace lessons {

/// The classic mistakes in the steps of a backward pass. What is passed by reference must live as long as the
/// mistakes.

/// Of the steps of `attention_backward`, ranks 3 and 4, and those of the forward pass as they go back: what
/// data/mistakes/ has formulas of, and what heads that are shared add. d_output [batch…×query×d_v]; V and K
/// have a head for each query head here, those of `kept` may have fewer. `divisor` is what the scores were
/// divided by.
template <std::size_t N>
attn::Mistakes mistakes_of_d_V(const AttentionKept<N>& kept, const Tensor<N>& d_output);
template <std::size_t N>
attn::Mistakes mistakes_of_d_weights(const Workbench& bench, const Tensor<N>& d_output, const Tensor<N>& V);
template <std::size_t N>
attn::Mistakes mistakes_of_d_scaled(const Workbench& bench, const AttentionKept<N>& kept,
                                    const Tensor<N>& d_weights, double divisor);
template <std::size_t N>
attn::Mistakes mistakes_of_d_scores(const Workbench& bench, const Tensor<N>& d_scaled, std::size_t d_k);
template <std::size_t N>
attn::Mistakes mistakes_of_d_Q(const Workbench& bench, const AttentionKept<N>& kept,
                               const Tensor<N>& d_scores, const Tensor<N>& K);
template <std::size_t N>
attn::Mistakes mistakes_of_d_K(const AttentionKept<N>& kept, const Tensor<N>& d_scores, const Tensor<N>& K,
                               double divisor);

/// Of d_heads, d_concat [batch×query×head·d_v] cut into heads, and of d_Q, d_K and d_V, the gradients of
/// their heads merged.
attn::Mistakes mistakes_of_d_heads(const Tensor<3>& d_concat, std::size_t heads);
attn::Mistakes mistakes_of_merged_gradient(const Tensor<4>& d_heads);

/// Of d_W and d_b of y = x W + b: x [batch×n×d_in], d_y [batch×n×d_out].
attn::Mistakes mistakes_of_weight_gradient(const Workbench& bench, const Tensor<3>& x, const Tensor<3>& d_y);
attn::Mistakes mistakes_of_bias_gradient(const Workbench& bench, Tensor<3> d_y);

/// Of the gradient of token vectors that went into several products: the sum of what comes back from each.
attn::Mistakes mistakes_of_d_vectors(const Workbench& bench, const std::vector<UseOfVectors>& uses);

/// Of the gradient of a tensor that went into a sublayer, from which `through_sublayer` comes back, and into
/// a residual connection: the sum of both. None where there was no such connection.
attn::Mistakes mistakes_of_residual_gradient(const std::optional<Named>& besides,
                                             const Tensor<3>& through_sublayer);

/// Of d_x of a layer norm; `besides` is what is added to it. Of d_gain.
attn::Mistakes mistakes_of_norm_gradient(const Tensor<3>& x, const Tensor<1>& gain, const Tensor<3>& d_y,
                                         const std::optional<Named>& besides);
attn::Mistakes mistakes_of_gain_gradient(const Workbench& bench, const Tensor<3>& x, const Tensor<3>& d_y);

/// Of the gradient of what an activation took, `z` of GELU.
attn::Mistakes mistakes_of_activation_gradient(attn::Activation activation, const Tensor<3>& z,
                                               const Tensor<3>& d_hidden);

}  // namespace lessons
