#pragma once

#include "attn/tensor.hpp"

namespace attn {

/// Statistics of a sample, summed in order in float64. Instantiated for float and double. They throw
/// std::invalid_argument for an empty sample.

/// (1/n) Σᵢ xᵢ, as `x.mean()` in NumPy.
template <class T>
double mean(const Tensor<T, 1>& x);

/// (1/n) Σᵢ (xᵢ − mean)², as `x.var()` in NumPy: the biased variance, which divides by n and not by n − 1.
template <class T>
double variance(const Tensor<T, 1>& x);

}  // namespace attn
