#pragma once

#include <optional>

#include "attn/layers/multihead_attention.hpp"
#include "attn/ops/feed_forward.hpp"
#include "attn/ops/layer_norm.hpp"
#include "attn/tensor.hpp"

namespace attn {

/// Where a sublayer f has its layer norm: after it, LN(x + f(x)) (Vaswani et al. 2017), or before it,
/// x + f(LN(x)) (Xiong et al. 2020).
enum class NormOrder { post, pre };

struct TransformerBlockSettings {
  std::size_t heads = 1;
  NormOrder norm = NormOrder::post;
  Activation activation = Activation::relu;
};

/// A decoder's block has `cross` and `norm_cross` as well.
struct TransformerBlockWeights {
  MultiHeadWeights attention;
  std::optional<MultiHeadWeights> cross;
  FeedForwardWeights feed_forward;
  LayerNormWeights norm_1;
  std::optional<LayerNormWeights> norm_cross;
  LayerNormWeights norm_2;
};

/// One sublayer f with its residual connection and its layer norm, each [batch×n×d_model].
struct Sublayer {
  Tensor<3> norm;      ///< post: LN(residual), pre: LN(x)
  Tensor<3> residual;  ///< post: x + f(x), pre: x + f(norm)
  Tensor<3> output;    ///< post: norm, pre: residual
};

/// A block of a transformer (Vaswani et al. 2017, section 3.1) and all that it is made of.
struct TransformerBlock {
  MultiHeadAttention attention;
  std::optional<MultiHeadAttention> cross;
  FeedForward feed_forward;
  Sublayer sublayer_1;                     ///< around `attention`
  std::optional<Sublayer> sublayer_cross;  ///< around `cross`
  Sublayer sublayer_2;                     ///< around `feed_forward`
  Tensor<3> output;                        ///< [batch×n×d_model]
};

/// What a decoder's block reads besides its own tokens: an encoder's output and which of its tokens may be
/// seen.
struct Memory {
  Tensor<3> X;                       ///< [batch×source×d_model]
  std::optional<Mask<3>> mask;  ///< [batch×query×source]
};

/// X is [batch×n×d_model], mask [batch×query×key], true = may be seen. With a memory it is a decoder's block.
/// Instantiated for float and double. Throws std::invalid_argument where shapes do not match, and where there
/// is a memory but no weights for it or the other way round.
TransformerBlock transformer_block(const Tensor<3>& X, const TransformerBlockWeights& weights,
                                      const TransformerBlockSettings& settings,
                                      const std::optional<Mask<3>>& mask = std::nullopt,
                                      const std::optional<Memory>& memory = std::nullopt);

}  // namespace attn
