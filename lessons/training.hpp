#pragma once

#include <cstddef>

#include "attn/tensor.hpp"

namespace lessons {

/// What stands between two layers.
enum class Between { nothing, relu };

/// What a stack of freshly drawn layers does to the size of the numbers that go through it.
struct VarianceThroughLayers {
  /// [layer], entry 0 for the input: the mean of y² over all y of the layer, taken before ReLU. It is the
  /// variance where the mean of y is 0, as it is for weights drawn with mean 0.
  attn::Tensor<1> variance;

  /// [layer]: one standard error of variance[l] / variance[l − 1] around d · s², with nothing between the
  /// layers; 0 for the input and where the layer before has vanished. For weights normal(0, s) and given x
  /// the ratio is a sum of chi-squares over the eigenvalues of A = xᵀx: its standard deviation is d · s² ·
  /// √(2/d · tr(A²)/tr(A)²).
  attn::Tensor<1> standard_error;
};

/// Follows x [sample×d_model] through the layers y = x W with W = s · Z, where Z [layer×d_model×d_model] was
/// drawn normal(0, 1). Throws std::invalid_argument, with both shapes, where they do not match.
VarianceThroughLayers variance_through_layers(const attn::Tensor<2>& x, const attn::Tensor<3>& Z, double s,
                                              Between between);

}  // namespace lessons
