#pragma once

#include "attn/tensor.hpp"

namespace attn {

/// Gradients clipped by their norm (Pascanu et al. 2013), as torch.nn.utils.clip_grad_norm_ does it: one
/// factor for all of them. Instantiated for float and double.
struct Clipped {
  Tensor<1> row_norms;  ///< [row], the norm of each row by itself
  double norm = 0.0;       ///< √(Σ row norm²): of all rows together
  double factor = 1.0;     ///< min(1, max_norm / (norm + 1e-6))
  Tensor<2> gradients;  ///< factor · gradients
};

/// The gradients [row×feature] are those of one parameter a row. Throws std::invalid_argument unless max_norm
/// is positive.
Clipped clip_by_norm(const Tensor<2>& gradients, double max_norm);

/// Each number by itself cut off at ±limit. Throws std::invalid_argument unless the limit is positive.
Tensor<2> clip_by_value(const Tensor<2>& gradients, double limit);

/// The cosine of the angle between two tensors of one shape, in float64: 1 where they point the same way. NaN
/// where one is 0. Throws std::invalid_argument where the shapes differ.
double cosine(const Tensor<2>& x, const Tensor<2>& y);

}  // namespace attn
