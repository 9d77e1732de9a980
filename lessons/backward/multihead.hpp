#pragma once

#include <optional>

#include "lessons/backward/attention.hpp"
#include "lessons/backward/gradients.hpp"
#include "lessons/backward/moved.hpp"
#include "lessons/multihead.hpp"

namespace lessons {

/// What multi-head attention has to keep of its forward pass for the backward pass.
struct MultiHeadKept {
  Named X_query, X_key;
  const Tensor<4>&Q_heads, &K_heads, &V_heads;
  const Tensor<4>&weights, &heads;
  const std::optional<Mask<3>>& mask;
  const Tensor<4>* scaled = nullptr;  ///< for those who take it for the weights

  /// Of a forward pass from these token vectors. It looks into `forward`.
  static MultiHeadKept of(const Named& X_query, const Named& X_key, const MultiHeadAttention& forward,
                          const std::optional<Mask<3>>& mask);
};

/// The weights and biases of this group ("attention/") as the forward pass begins with them.
MultiHeadWeights moved(const Move& move, const MultiHeadWeights& weights, const std::string& group = "");

/// The gradients of the token vectors.
struct MultiHeadInputGradients {
  Tensor<3> d_X_query;
  Tensor<3> d_X_key;  ///< of the other text, where there are two
};

/// Back through `multihead_attention`, step by step, from d_output [batch×query×d_model]: `d_W_O`,
/// `d_concat`, `d_heads`, through the attention of each head, `d_Q`, `d_K`, `d_V`, the projections, their
/// biases and `d_X`. Where X goes elsewhere as well, that last step is a part of its gradient.
MultiHeadInputGradients multihead_backward(Workbench& bench, Gradients& gradients, const MultiHeadKept& kept,
                                           const MultiHeadWeights& weights, const Tensor<3>& d_output,
                                           bool X_goes_elsewhere = false);

}  // namespace lessons
