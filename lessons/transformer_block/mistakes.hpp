#pragma once

#include "lessons/transformer_block.hpp"
#include "trace/mistake.hpp"

namespace lessons {

/// The classic mistakes in the steps of a transformer's block around its attention, and other right ways to
/// compute them. What is passed by reference must live as long as the mistakes.

/// Of a layer norm of x [batch×token×d_model].
attn::Mistakes mistakes_of_layer_norm(const Tensor<3>& x, const attn::LayerNormWeights& weights);

/// Of a residual connection: x + found.
attn::Mistakes mistakes_of_residual(const Tensor<3>& x, const Tensor<3>& found);

/// Of the layer norm before a sublayer, which some models have after it, and of the sum x + found around that
/// sublayer, which read `normed`.
attn::Mistakes mistakes_of_norm_before(const Tensor<3>& x);
attn::Mistakes mistakes_of_residual_around_norm(const Tensor<3>& x, const Tensor<3>& found,
                                                const Tensor<3>& normed,
                                                const attn::LayerNormWeights& weights);

/// Of `ffn/hidden` and of `ffn/output`.
attn::Mistakes mistakes_of_hidden(attn::Activation activation, const Tensor<3>& x,
                                  const FeedForwardWeights& weights);
attn::Mistakes mistakes_of_feed_forward(const Tensor<3>& hidden, const FeedForwardWeights& weights);

}  // namespace lessons
