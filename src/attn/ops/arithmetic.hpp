#pragma once

#include "attn/tensor.hpp"

namespace attn {

/// Elementwise functions of tensors of ranks 1 to 4. What is taken by value is overwritten where it is moved
/// in: no second tensor is held.

/// x + y for tensors of one shape; throws std::invalid_argument otherwise.
template <std::size_t N>
Tensor<N> add(const Tensor<N>& x, const Tensor<N>& y) requires Rank<N, 1, 4>;

/// x ∘ y, element by element, for tensors of one shape; throws std::invalid_argument otherwise. Rank 3.
Tensor<3> multiply(const Tensor<3>& x, const Tensor<3>& y);

/// x / divisor.
template <std::size_t N>
Tensor<N> divide(Tensor<N> x, double divisor) requires Rank<N, 1, 4>;

/// |x|, element by element.
template <std::size_t N>
Tensor<N> absolute(Tensor<N> x) requires Rank<N, 1, 4>;

template <std::size_t N>
Tensor<N> tanh(Tensor<N> x) requires Rank<N, 1, 4>;

/// σ(x) = 1 / (1 + e⁻ˣ). Rank 3.
Tensor<3> sigmoid(Tensor<3> x);

}  // namespace attn
