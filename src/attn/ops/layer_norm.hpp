#pragma once

#include "attn/tensor.hpp"
#include "attn/worked.hpp"

namespace attn {

/// What layer normalisation learns: gain and bias [d].
struct LayerNormWeights {
  Tensor<1> gain, bias;
};

/// Layer normalisation along the last axis (Ba et al. 2016): (x − mean) / √(variance + 1e-5) · gain + bias,
/// with the biased variance. x is [batch×n×d], gain and bias are [d].
/// Throws std::invalid_argument, with both shapes, where they do not match.
Tensor<3> layer_norm(const Tensor<3>& x, const Tensor<1>& gain, const Tensor<1>& bias);

/// Layer normalisation without gain and bias: (x − mean) / √(variance + 1e-5).
Tensor<3> standardize(const Tensor<3>& x);

/// The gradients of a loss with respect to what layer normalisation read.
struct LayerNormGradients {
  Tensor<3> d_x;
  Tensor<1> d_gain, d_bias;
};

/// Back through y = layer_norm(x, gain, bias), from d_y [batch×n×d]. With s = standardize(x), σ = √(variance
/// + 1e-5) of a row and d_s = d_y · gain: d_gain = Σ d_y · s and d_bias = Σ d_y over all rows, and
/// d_x = (d_s − mean(d_s) − s · mean(d_s · s)) / σ, the two means those of the row (Ba et al. 2016; derived
/// as by Ioffe & Szegedy 2015 for batch normalisation). Throws std::invalid_argument, with both shapes, where
/// they do not match.
LayerNormGradients layer_norm_backward(const Tensor<3>& x, const Tensor<1>& gain, const Tensor<3>& d_y);

/// The entries of its d_x, d_gain and d_bias, worked out.
WorkedOut worked_layer_norm_backward_x(Known<3> x, Known<1> gain, Known<3> d_y);
WorkedOut worked_layer_norm_backward_gain(Known<3> x, Known<3> d_y);

}  // namespace attn
