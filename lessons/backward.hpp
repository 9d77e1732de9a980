#pragma once

#include "lessons/self_attention.hpp"

namespace lessons {

/// The gradients of a loss with respect to all that attention is made of, in the order in which they follow
/// from that of the output. Each has the shape of what it belongs to.
struct AttentionGradients {
  Tensor<3> d_V, d_weights, d_scaled, d_scores, d_Q, d_K;
};

/// Back through `scaled_dot_product_attention`, step by step, from d_output [batch×query×d_v], the gradient
/// of a loss with respect to the output. The mask is not needed for the numbers: a hidden key has weight 0,
/// and a weight of 0 passes no gradient.
AttentionGradients attention_backward(Workbench& bench, const AttentionInputs& in,
                                      const Attention<3>& attention, const Tensor<3>& d_output);

/// Token vectors and the projections that made Q, K and V of them.
struct ProjectedFrom {
  Named X_query;  ///< [batch×query×d_model]
  Named X_key;    ///< [batch×key×d_model], the same where queries and keys are of one text
  ProjectionWeights weights;

  bool is_one_text() const { return X_query.id == X_key.id; }
};

/// The gradients of what Q, K and V came from. The gradients of a parameter add up over the samples.
struct ProjectionGradients {
  Tensor<2> d_W_Q, d_W_K, d_W_V;
  Tensor<3> d_X_query;  ///< of the one text: through Q, K and V together
  Tensor<3> d_X_key;    ///< of the other text, where there are two
};

/// Back through Q = X_query W_Q, K = X_key W_K and V = X_key W_V: `d_W_Q`, `d_W_K`, `d_W_V`, and `d_X` or one
/// for each text.
ProjectionGradients projection_backward(Workbench& bench, const ProjectedFrom& from,
                                        const AttentionGradients& gradients);

}  // namespace lessons
