#pragma once

#include <string>
#include <vector>

#include "attn/layers/attention.hpp"
#include "attn/random/random.hpp"
#include "attn/tensor.hpp"

namespace attn {

/// How far one gradient is from central differences of the loss.
struct GradientDeviation {
  std::string name;  ///< of the tensor: "V", "weights", "scaled", "scores", "Q" or "K"
  double deviation = 0.0;
  double allowed = 0.0;  ///< what the truncation of a difference and rounding may amount to together
};

struct AttentionGradientCheck {
  bool entry_by_entry = false;  ///< or else all entries of a tensor at once, up or down at random
  std::vector<GradientDeviation> deviations{};  ///< in the order of AttentionGradients
};

/// Holds the gradients of L = Σ output ∘ d_output against central differences of L in every tensor that
/// attention is made of, in float64 whatever T is: entry by entry where that is done in a moment, otherwise
/// along one direction of random signs for each tensor. A step moves no scaled score by more than 1e-5,
/// whatever the scale of the scores.
/// Throws std::invalid_argument, with both shapes, where they do not match.
AttentionGradientCheck check_attention_gradients(const AttentionInputs& inputs, double temperature,
                                                 const Tensor<3>& d_output,
                                                 const AttentionGradients<3>& gradients, Random& random);

}  // namespace attn
