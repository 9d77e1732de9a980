#pragma once

#include <optional>
#include <string>

#include "attn/ops/activation.hpp"
#include "lessons/backward/multihead.hpp"
#include "lessons/transformer_block.hpp"

namespace lessons {

/// What a block has to keep of its forward pass for the backward pass. It looks into the tensors of that
/// pass.
struct BlockKept {
  const Tensor<3>& X;
  MultiHeadKept attention;
  const AroundSublayer &around_attention, &around_feed_forward;
  const Tensor<3>& hidden;

  /// Of a block without a memory; `mask` is that of its attention.
  static BlockKept of(const Workbench& bench, const Tensor<3>& X, const TransformerBlock& forward,
                      const std::optional<Mask<3>>& mask);
};

/// The options --norm pre and --activation.
bool is_pre_norm(const Workbench& bench);
attn::Activation activation_of(const Workbench& bench);

/// Back through y = LN(x) with the inputs `norm`/gain and `norm`/bias: the steps `norm`/d_gain, `norm`/d_bias
/// and d_x. `besides` is the gradient that x has beside this one, through a residual connection.
Tensor<3> layer_norm_back(Gradients& gradients, const Named& x, const std::string& norm,
                          const attn::LayerNormWeights& weights, const Named& d_y,
                          const std::optional<Named>& besides = std::nullopt);

/// Back through the network from `ffn/d_output`: `d_W_2`, `d_b_2`, `ffn/d_hidden`, `ffn/d_linear`, which
/// is the gradient of x W_1 + b_1, `d_W_1`, `d_b_1` and d_x.
Tensor<3> feed_forward_backward(Workbench& bench, Gradients& gradients, const Named& x,
                                const Tensor<3>& hidden, const FeedForwardWeights& weights,
                                const Tensor<3>& d_output, const std::optional<Named>& besides);

/// Back through `apply_block` without a memory, from d_output [batch×token×d_model] to `d_X`.
void block_backward(Workbench& bench, Gradients& gradients, const BlockKept& kept,
                    const TransformerBlockWeights& weights, const Tensor<3>& d_output);

}  // namespace lessons
