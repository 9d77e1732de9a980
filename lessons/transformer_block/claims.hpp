#pragma once

#include <optional>

#include "lessons/transformer_block.hpp"

/// What the lesson transformer-block claims of a block and of its parts.
namespace lessons {

/// Each row of `norm`, the layer norm of x, has mean 0 and variance 1 before gain and bias.
void claim_layer_norm(Workbench& bench, const Named& norm, const Named& x,
                      const attn::LayerNormWeights& weights);

/// The feed-forward network of x treats every token by itself.
void claim_feed_forward(Workbench& bench, const Named& x, const FeedForward& shown,
                        const FeedForwardWeights& weights);

/// The largest change in any row of the output but the last when the last token of each sample becomes
/// another: 0 where no token sees a later one. The block is computed again on the mute workbench.
double look_ahead(Workbench& mute, const Tensor<3>& X, const TransformerBlockWeights& weights,
                  const std::optional<Mask<3>>& mask, const std::optional<Tensor<3>>& memory,
                  const Tensor<3>& output);

/// max |X + (what each sublayer found) − output|: 0 but for rounding where X goes straight through the block.
double deviation_from_sum(const Tensor<3>& X, const TransformerBlock& block);

/// The whole block, computed once more, is the same; with --norm pre X goes straight through it, and with
/// --causal no token looks ahead.
void claim_block(Workbench& bench, const Tensor<3>& X, const TransformerBlockWeights& weights,
                 const std::optional<Mask<3>>& mask, const std::optional<Tensor<3>>& memory,
                 const TransformerBlock& block);

}  // namespace lessons
