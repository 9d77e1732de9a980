#include "attn/layers/transformer_block.hpp"

#include <stdexcept>

#include "attn/ops/arithmetic.hpp"

namespace attn {

namespace {

/// Puts the residual connection and the layer norm around `f`.
template <class Function>
Sublayer sublayer(const Tensor<3>& x, const LayerNormWeights& weights, NormOrder order, Function f) {
  const auto norm = [&](const Tensor<3>& tensor) {
    return layer_norm(tensor, weights.gain, weights.bias);
  };
  Sublayer result;
  if (order == NormOrder::post) {
    result.residual = add(x, f(x));
    result.norm = norm(result.residual);
    result.output = result.norm;
  } else {
    result.norm = norm(x);
    result.residual = add(x, f(result.norm));
    result.output = result.residual;
  }
  return result;
}

}  // namespace

TransformerBlock transformer_block(const Tensor<3>& X, const TransformerBlockWeights& weights,
                                      const TransformerBlockSettings& settings,
                                      const std::optional<Mask<3>>& mask,
                                      const std::optional<Memory>& memory) {
  if (memory.has_value() != (weights.cross && weights.norm_cross))
    throw std::invalid_argument(
        "[transformer_block] a memory and the weights of cross-attention need each other");
  const auto heads = settings.heads;
  TransformerBlock block;

  block.sublayer_1 = sublayer(X, weights.norm_1, settings.norm, [&](const Tensor<3>& x) {
    block.attention = multihead_attention(x, x, weights.attention, heads, heads, mask);
    return block.attention.output;
  });
  block.output = block.sublayer_1.output;

  if (memory) {
    block.sublayer_cross =
        sublayer(block.output, *weights.norm_cross, settings.norm, [&](const Tensor<3>& x) {
          block.cross = multihead_attention(x, memory->X, *weights.cross, heads, heads, memory->mask);
          return block.cross->output;
        });
    block.output = block.sublayer_cross->output;
  }

  block.sublayer_2 = sublayer(block.output, weights.norm_2, settings.norm, [&](const Tensor<3>& x) {
    block.feed_forward = feed_forward(x, weights.feed_forward, settings.activation);
    return block.feed_forward.output;
  });
  block.output = block.sublayer_2.output;
  return block;
}


}  // namespace attn
