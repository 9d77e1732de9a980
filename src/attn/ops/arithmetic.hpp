#pragma once

#include "attn/tensor.hpp"

namespace attn {

/// Elementwise functions of tensors of ranks 1 to 4.

/// x + y for tensors of one shape; throws std::invalid_argument otherwise.
template <std::size_t N>
Tensor<N> add(const Tensor<N>& x, const Tensor<N>& y);

/// x / divisor.
template <std::size_t N>
Tensor<N> divide(const Tensor<N>& x, double divisor);

/// x + amount.
template <std::size_t N>
Tensor<N> shift(const Tensor<N>& x, double amount);

template <std::size_t N>
Tensor<N> tanh(const Tensor<N>& x);

}  // namespace attn
