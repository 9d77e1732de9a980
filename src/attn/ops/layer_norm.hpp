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

/// How far the rows of `standardized` are from those of `standardize(x)` in mean and variance: the largest
/// |mean| and the largest |variance − v / (v + 1e-5)|, v the variance of the row of x, whichever is larger.
/// That quotient is 1 but for the epsilon, and 0 for a constant row. Throws std::invalid_argument where the
/// shapes differ.
double standardization_deviation(const Tensor<3>& standardized, const Tensor<3>& x);

/// The largest 1 / √(variance + 1e-5) of a row: how much layer normalisation magnifies a difference between
/// rows.
double magnification(const Tensor<3>& x);

/// (xⱼ − mean) / √(Σ (x − mean)² / d + 1e-5) · gainⱼ + biasⱼ, worked out, mean = Σ x / d.
WorkedOut worked_layer_norm(Known<3> x, Known<1> gain, Known<1> bias);

}  // namespace attn
