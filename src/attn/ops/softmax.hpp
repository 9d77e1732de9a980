#pragma once

#include "attn/tensor.hpp"

namespace attn {

/// softmax(x)ⱼ = exp(xⱼ − max x) / Σₖ exp(xₖ − max x) along the last axis; ranks 1 to 4, float and double.
/// A row in which every score is −∞ (all keys masked) becomes a row of zeros.
template <class T, std::size_t N>
Tensor<T, N> softmax(const Tensor<T, N>& scores);

}  // namespace attn
