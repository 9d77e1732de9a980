#pragma once

#include "lessons/backward/gradient_check.hpp"
#include "lessons/backward/projections.hpp"

namespace lessons {

/// Holds the gradients of L = Σ output ∘ d_output in the projections W_Q, W_K, W_V and in the token vectors
/// that they were applied to against central differences of L, as `check_gradients` does: moved where they
/// stand in the forward pass, in float64, no scaled score by more than 1e-5.
GradientCheck check_projections(const ProjectedFrom& from, const AttentionInputs& in,
                                const Attention<3>& attention, const Tensor<3>& d_output,
                                const ProjectionGradients& gradients, double temperature, attn::Dtype dtype,
                                const RandomOf& random_of);

}  // namespace lessons
