#pragma once

#include "lessons/sdpa.hpp"

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

}  // namespace lessons
