#pragma once

#include <vector>

#include "attn/layers/multihead_attention.hpp"
#include "attn/ops/layer_norm.hpp"
#include "attn/tensor.hpp"

namespace attn {

struct AttentionClassifierWeights {
  MultiHeadWeights attention;
  LayerNormWeights norm;
  Tensor<2> W_class;  ///< [d_model×class]
};

/// A classifier of sentences with one layer of attention, and all that it is made of.
struct AttentionClassifier {
  MultiHeadAttention attention;
  Tensor<3> residual;       ///< encoded + attention output [batch×n×d_model]
  Tensor<3> normalized;     ///< layer norm of the residual [batch×n×d_model]
  Tensor<2> pooled;         ///< the mean over the real tokens [batch×d_model]
  Tensor<2> logits;         ///< pooled W_class [batch×class]
  Tensor<2> probabilities;  ///< softmax over the classes [batch×class]
};

/// `encoded` [batch×n×d_model] holds embeddings with their positions, the first `lengths[b]` rows of each
/// sample real and the rest padding, which no query sees and no mean counts. Instantiated for float and
/// double. Throws std::invalid_argument where shapes or lengths do not match.
AttentionClassifier attention_classifier(const Tensor<3>& encoded,
                                            const AttentionClassifierWeights& weights, std::size_t heads,
                                            const std::vector<std::size_t>& lengths);

}  // namespace attn
