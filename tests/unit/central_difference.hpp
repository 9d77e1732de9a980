#pragma once

#include <functional>

#include "attn/tensor.hpp"

namespace attn {

/// A gradient that was derived, and what it takes to check it without the derivation. Everything in float64,
/// the only type in which small differences leave digits to look at.
template <std::size_t N>
struct GradientCheck {
  std::function<Tensor<N>(const Tensor<N>&)> f;
  Tensor<N> x;         ///< where the gradient was taken
  Tensor<N> d_output;  ///< [shape of f(x)]: the loss is L(x) = Σ f(x) ∘ d_output
  Tensor<N> gradient;  ///< [shape of x]: what ∂L/∂x is said to be
  double step = 0.0;   ///< h, how far x is moved
};

/// How far the gradient is from central differences of the loss, (L(x + h) − L(x − h)) / 2h, where L is what
/// it is and not what a formula makes of it. Ranks 2 to 4. They throw std::invalid_argument, with both
/// shapes, where those do not match.

/// The largest difference where one entry of x moves at a time: two evaluations of f for each entry.
template <std::size_t N>
double deviation_entry_by_entry(const GradientCheck<N>& check);

/// The difference where all entries move at once, entry i by h · direction(i): |Σ gradient ∘ direction −
/// (L(x + h·direction) − L(x − h·direction)) / 2h|. Two evaluations of f for all entries together; with
/// random signs as direction no wrong entry hides except by chance.
template <std::size_t N>
double deviation_along(const GradientCheck<N>& check, const Tensor<N>& direction);

}  // namespace attn
