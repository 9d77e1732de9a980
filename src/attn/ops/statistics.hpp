#pragma once

#include "attn/tensor.hpp"

namespace attn {

/// Statistics of a sample, summed in order. They throw
/// std::invalid_argument for an empty sample.

/// (1/n) Σᵢ xᵢ, as `x.mean()` in NumPy.
double mean(const Tensor<1>& x);

/// (1/n) Σᵢ (xᵢ − mean)², as `x.var()` in NumPy: the biased variance, which divides by n and not by n − 1.
double variance(const Tensor<1>& x);

}  // namespace attn
