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
template <class T>
struct TransformerBlockWeights {
  MultiHeadWeights<T> attention;
  std::optional<MultiHeadWeights<T>> cross;
  FeedForwardWeights<T> feed_forward;
  LayerNormWeights<T> norm_1;
  std::optional<LayerNormWeights<T>> norm_cross;
  LayerNormWeights<T> norm_2;
};

/// One sublayer f with its residual connection and its layer norm, each [batch×n×d_model].
template <class T>
struct Sublayer {
  Tensor<T, 3> norm;      ///< post: LN(residual), pre: LN(x)
  Tensor<T, 3> residual;  ///< post: x + f(x), pre: x + f(norm)
  Tensor<T, 3> output;    ///< post: norm, pre: residual
};

/// A block of a transformer (Vaswani et al. 2017, section 3.1) and all that it is made of.
template <class T>
struct TransformerBlock {
  MultiHeadAttention<T> attention;
  std::optional<MultiHeadAttention<T>> cross;
  FeedForward<T> feed_forward;
  Sublayer<T> sublayer_1;                     ///< around `attention`
  std::optional<Sublayer<T>> sublayer_cross;  ///< around `cross`
  Sublayer<T> sublayer_2;                     ///< around `feed_forward`
  Tensor<T, 3> output;                        ///< [batch×n×d_model]
};

/// What a decoder's block reads besides its own tokens: an encoder's output and which of its tokens may be
/// seen.
template <class T>
struct Memory {
  Tensor<T, 3> X;                       ///< [batch×source×d_model]
  std::optional<Tensor<bool, 3>> mask;  ///< [batch×query×source]
};

/// X is [batch×n×d_model], mask [batch×query×key], true = may be seen. With a memory it is a decoder's block.
/// Instantiated for float and double. Throws std::invalid_argument where shapes do not match, and where there
/// is a memory but no weights for it or the other way round.
template <class T>
TransformerBlock<T> transformer_block(const Tensor<T, 3>& X, const TransformerBlockWeights<T>& weights,
                                      const TransformerBlockSettings& settings,
                                      const std::optional<Tensor<bool, 3>>& mask = std::nullopt,
                                      const std::optional<Memory<T>>& memory = std::nullopt);

}  // namespace attn
