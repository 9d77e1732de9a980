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

/// max(0, x) or x / 2 · (1 + erf(x / √2)), worked out.
WorkedOut worked_activation(Activation activation, WorkedOut x);

}  // namespace attn
