#pragma once

#include <optional>
#include <string>
#include <vector>

#include "attn/ops/activation.hpp"
#include "attn/ops/layer_norm.hpp"
#include "lessons/multihead.hpp"
#include "trace/mistake.hpp"

namespace lessons {

/// The step `about.id` = x + found, the residual connection around a sublayer (He et al. 2016). Its formula
/// and what it is computed from are filled in. Throws std::invalid_argument where the shapes differ.
Named residual(Workbench& bench, attn::About about, const Named& x, const Named& found,
               const attn::Mistakes& more_mistakes = {});

/// The step `about.id`, the layer norm of each row of x (Ba et al. 2016) with the inputs `NAME/gain` and
/// `NAME/bias`. Its formula and what it is computed from are filled in.
Named layer_norm(Workbench& bench, attn::About about, const Named& x, const std::string& name,
                 const attn::LayerNormWeights& weights, const attn::Mistakes& more_mistakes = {});

/// The inputs `NAME/gain` [d_model], all 1, and `NAME/bias` [d_model], all 0, which cost no draw.
attn::LayerNormWeights layer_norm_weights(Workbench& bench, const std::string& name);

/// The step `residual` = X + output, for attention from X.
Named attention_residual(Workbench& bench, const Named& X, const Named& output);

/// The step `normalized`, the layer norm of x with the inputs `norm/gain` and `norm/bias`.
Named attention_norm(Workbench& bench, const Named& x, const attn::LayerNormWeights& weights);

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

/// The position-wise feed-forward network (Vaswani et al. 2017, equation 2) with the activation of the
/// options: the steps `ffn/hidden` and `ffn/output`. x is [batch×token×d_model].
FeedForward feed_forward(Workbench& bench, const Named& x, const FeedForwardWeights& weights);

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

/// The inputs `attention/W_Q` …, with a memory `cross/W_Q` …, `W_1`, `b_1`, `W_2`, `b_2` and those of the
/// layer norms, drawn in that order.
TransformerBlockWeights draw_block_weights(Workbench& bench, bool has_memory = false);

/// Their declarations, of a block with a memory or without, and those of the biases of its attention.
std::vector<Input> block_input_list(bool has_memory);
std::vector<Input> block_bias_list(bool has_memory);

/// The options --activation and --norm pre.
attn::Activation activation_of(const Workbench& bench);
bool norm_comes_first(const Workbench& bench);

/// What a block goes through.
struct TransformerBlock {
  MultiHeadAttention attention;
  Tensor<3> attended;  ///< behind the sublayer of attention, [batch×token×d_model]
  std::optional<MultiHeadAttention> cross{};
  FeedForward feed_forward;
  AroundSublayer around_attention{}, around_cross{}, around_feed_forward{};
  Tensor<3> output;  ///< [batch×token×d_model]
};

/// A block of a transformer (Vaswani et al. 2017, section 3.1) step by step to `output`, with the order of
/// the layer norms and the activation of the options; on a workbench that is not mute with the claims about
/// its parts. X is [batch×token×d_model], mask [batch×query×key], true = may be seen. With a memory, an
/// encoder's output [batch×source×d_model], it is a decoder's block. Throws std::invalid_argument where there
/// is a memory but no weights for it or the other way round.
TransformerBlock apply_block(Workbench& bench, const Named& X, const TransformerBlockWeights& weights,
                             const std::optional<Mask<3>>& mask,
                             const std::optional<Tensor<3>>& memory = std::nullopt);

/// Gives X and all weights of the second layer of the model about.
void give_block(ModelInputs& inputs);

}  // namespace lessons
