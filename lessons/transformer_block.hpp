#pragma once

#include <optional>
#include <string>
#include <vector>

#include "attn/ops/layer_norm.hpp"
#include "lessons/multihead.hpp"

namespace lessons {

/// The weights of the feed-forward network.
struct FeedForwardWeights {
  Tensor<2> W_1;  ///< [d_model×d_ff]
  Tensor<1> b_1;  ///< [d_ff]
  Tensor<2> W_2;  ///< [d_ff×d_model]
  Tensor<1> b_2;  ///< [d_model]
};

/// What the feed-forward network goes through.
struct FeedForward {
  Tensor<3> hidden;  ///< activation(x W_1 + b_1) [batch×token×d_ff]
  Tensor<3> output;  ///< hidden W_2 + b_2 [batch×token×d_model]
};

/// The weights of a block. That of a decoder has `cross` and `norm_cross` as well.
struct TransformerBlockWeights {
  MultiHeadWeights attention;
  std::optional<MultiHeadWeights> cross{};
  FeedForwardWeights feed_forward;
  attn::LayerNormWeights norm_1;
  std::optional<attn::LayerNormWeights> norm_cross{};
  attn::LayerNormWeights norm_2;
};

/// What goes on around a sublayer, [batch×token×d_model] each.
struct AroundSublayer {
  Tensor<3> residual;  ///< what came in and what the sublayer found
  Tensor<3> norm;      ///< the layer norm of that sum or, with --norm pre, of what came in
};

/// What a block goes through.
struct TransformerBlock {
  MultiHeadAttention attention;
  Tensor<3> attended;  ///< behind the sublayer of attention, [batch×token×d_model]
  std::optional<MultiHeadAttention> cross{};
  FeedForward feed_forward;
  AroundSublayer around_attention{}, around_feed_forward{};
  Tensor<3> output;  ///< [batch×token×d_model]
};

/// A block of a transformer, the part block.md: on a workbench that is not mute with its claims, and with its
/// code under `forward`. X is [batch×token×d_model], mask [batch×query×key], true = may be seen. With a
/// memory, an encoder's output [batch×source×d_model], it is a decoder's block. Throws std::invalid_argument
/// where there is a memory but no weights for it or the other way round.
TransformerBlock apply_block(Workbench& bench, const Named& X, const TransformerBlockWeights& weights,
                             const std::optional<Mask<3>>& mask,
                             const std::optional<Tensor<3>>& memory = std::nullopt);

/// Gives X and all weights of the second layer of the model about.
void give_block(ModelInputs& inputs);

/// The lesson that is the document transformer-block.md.
const Lesson& transformer_block_lesson();

}  // namespace lessons
