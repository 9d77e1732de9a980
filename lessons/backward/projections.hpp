#pragma once

#include <string>
#include <vector>

#include "lessons/backward/gradients.hpp"
#include "lessons/self_attention.hpp"

namespace lessons {

/// Token vectors and the projections that made Q, K and V of them.
struct ProjectedFrom {
  Named X_query;  ///< [batch×query×d_model]
  Named X_key;    ///< [batch×key×d_model], the same where queries and keys are of one text
  ProjectionWeights weights;
  std::string heads{};  ///< "head·" where Q holds the queries of several heads
  std::string kv_heads{};
  bool goes_elsewhere = false;  ///< so that what comes back here is a part of the gradient of X only

  bool is_one_text() const { return X_query.id == X_key.id; }
};

/// One of the products that token vectors went into: `projection` is "Q", "K" or "V".
struct UseOfVectors {
  std::string projection;
  const Tensor<3>& d_projection;
  const Tensor<2>& W;
};

/// The gradients of what Q, K and V came from, but for biases. The gradients of a parameter add up over the
/// samples.
struct ProjectionGradients {
  Tensor<2> d_W_Q, d_W_K, d_W_V;
  Tensor<3> d_X_query;  ///< of the one text: through Q, K and V together
  Tensor<3> d_X_key;    ///< of the other text, where there are two
};

/// Back through Q = X_query W_Q, K = X_key W_K and V = X_key W_V from d_Q, d_K, d_V [batch×n×d]: `d_W_Q`,
/// `d_W_K`, `d_W_V`, `d_b_Q`, `d_b_K`, `d_b_V` where there are biases, and `d_X` or one for each text.
ProjectionGradients projection_backward(Workbench& bench, Gradients& gradients, const ProjectedFrom& from,
                                        const Tensor<3>& d_Q, const Tensor<3>& d_K, const Tensor<3>& d_V);

/// The step d_W of a product y = x W, from the gradient `d_y` that is shown as d_y.id. Gradients of all
/// samples add up.
Tensor<2> show_weight_gradient(Workbench& bench, Gradients& gradients, const std::string& W, const Named& x,
                               const Named& d_y, attn::About about);

/// The step d_b of a bias [axis] that was added to each row of y, from the gradient `d_y` that is shown as
/// d_y.id.
void show_bias_gradient(Gradients& gradients, const std::string& b, const Named& d_y,
                        const std::string& axis);

}  // namespace lessons
