#pragma once

#include <functional>
#include <string>
#include <vector>

#include "lessons/backward/difference_check.hpp"

namespace lessons {

struct GradientCheck {
  bool entry_by_entry = false;  ///< or else all entries of a tensor at once, up or down at random
  std::vector<GradientDeviation> deviations{};  ///< in the order of the gradients
};

/// The stream that what is called `id` is drawn from.
using RandomOf = std::function<attn::Random&(const std::string& id)>;

/// Holds the gradients of L = Σ output ∘ d_output against central differences of L in every tensor that
/// attention is made of: entry by entry where that is done in a moment, otherwise along one direction of
/// random signs for each tensor, those of V drawn as "check/d_V" and so on. Each tensor is moved where it
/// stands in the forward pass, `attention`, whose tensors are rounded to `dtype`; the differences are taken
/// in float64. A step moves no scaled score by more than 1e-5.
GradientCheck check_gradients(const AttentionInputs& in, const Attention<3>& attention,
                              const Tensor<3>& d_output, const AttentionGradients<3>& gradients,
                              double temperature, attn::Dtype dtype, const RandomOf& random_of);

/// What the terms of each gradient sum up to without their signs: rounding changes an entry by no more than a
/// few units in the last place of this one.
AttentionGradients<3> gradient_magnitudes(const AttentionInputs& in, const Attention<3>& attention,
                                          const Tensor<3>& d_output, double temperature);

}  // namespace lessons
