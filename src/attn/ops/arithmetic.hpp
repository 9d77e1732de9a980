#pragma once

#include "attn/tensor.hpp"

namespace attn {

/// Elementwise functions. Instantiated for float and double and ranks 1 to 4.

/// x + y for tensors of one shape; throws std::invalid_argument otherwise.
template <class T, std::size_t N>
Tensor<T, N> add(const Tensor<T, N>& x, const Tensor<T, N>& y);

/// x / divisor.
template <class T, std::size_t N>
Tensor<T, N> divide(const Tensor<T, N>& x, double divisor);

/// x + amount.
template <class T, std::size_t N>
Tensor<T, N> shift(const Tensor<T, N>& x, double amount);

template <class T, std::size_t N>
Tensor<T, N> tanh(const Tensor<T, N>& x);

/// Each element rounded once to T.
template <class T, std::size_t N>
Tensor<T, N> cast(const Tensor<double, N>& x);

/// x in float64, for measuring with more digits than it has.
template <class T, std::size_t N>
Tensor<double, N> as_float64(const Tensor<T, N>& x);

}  // namespace attn
