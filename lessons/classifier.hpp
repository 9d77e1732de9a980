#pragma once

#include <optional>
#include <vector>

#include "attn/ops/layer_norm.hpp"
#include "lessons/multihead.hpp"

namespace lessons {

struct ClassifierWeights {
  MultiHeadWeights attention;
  attn::LayerNormWeights norm;
  Tensor<2> W_class;                   ///< [d_model×class]
  std::optional<Tensor<1>> b_class{};  ///< [class], where it is given
};

/// What a sentence goes through on its way to a class.
struct Classification {
  Tensor<3> residual;       ///< encoded + attention output [batch×token×d_model]
  Tensor<2> pooled;         ///< the mean over the real tokens of its layer norm [batch×d_model]
  Tensor<2> logits;         ///< [batch×class]
  Tensor<2> probabilities;  ///< softmax over the classes [batch×class]
};

/// A classifier with one layer of attention, step by step from attention's projections to `probabilities`.
/// `encoded` [batch×token×d_model] holds embeddings with their positions, the first `lengths[b]` rows of each
/// sample real and the rest padding, which the mask [batch×query×key] hides and no mean counts. Throws
/// std::invalid_argument where shapes or lengths do not match.
Classification classify(Workbench& bench, const Tensor<3>& encoded, const ClassifierWeights& weights,
                        const std::vector<std::size_t>& lengths, const std::optional<Mask<3>>& mask);

}  // namespace lessons
