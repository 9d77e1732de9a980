#pragma once

#include "attn/tensor.hpp"
#include "attn/worked.hpp"

namespace attn {

/// Activation functions, element by element.

enum class Activation { relu, gelu };

/// max(0, x) (Nair & Hinton 2010).
Tensor<3> relu(const Tensor<3>& x);

/// x Φ(x), Φ the distribution function of the standard normal distribution (Hendrycks & Gimpel 2016), by erf
/// and not by the tanh that approximates it: x/2 · (1 + erf(x / √2)).
Tensor<3> gelu(const Tensor<3>& x);

Tensor<3> activate(Activation activation, const Tensor<3>& x);

/// Back through an activation: d_y where x > 0 and 0 elsewhere (at the corner, 0, too), or d_y · (Φ(x) + x
/// φ(x)), φ the density of the standard normal distribution. x is what the activation read. Throws
/// std::invalid_argument, with both shapes, where they differ.
Tensor<3> activate_backward(Activation activation, const Tensor<3>& x, const Tensor<3>& d_y);

/// The same, worked out from what `x` works out.
WorkedOut worked_activation_backward(Activation activation, WorkedOut x, Known<3> d_y);

}  // namespace attn
