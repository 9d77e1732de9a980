#pragma once

#include "attn/random/random.hpp"
#include "attn/tensor.hpp"

namespace attn {

/// What dropout does to attention weights on average, measured over many masks.
struct DropoutMoments {
  Integers<1> mask;  ///< [key], the first mask
  Tensor<1> dropped;          ///< [key], weights · mask / (1 − p)
  Tensor<1> mean;             ///< [key], of `dropped` over all masks
  Tensor<1> variance;         ///< [key], of `dropped` over all masks
};

/// Draws `samples` masks one after another, binomial(1, 1 − p) for each key, as np.random.binomial(1, 1 - p,
/// (samples, keys)) does. Instantiated for float and double. Throws std::invalid_argument unless 0 <= p < 1
/// and there is a sample.
DropoutMoments dropout_moments(Random& random, const Tensor<1>& weights, double p, std::size_t samples);

/// How far the mean is from the weights, in standard errors weight · √(p / (1 − p) / samples): the largest
/// over the keys; NaN where one is NaN or nothing is dropped.
double error_of_mean(const DropoutMoments& moments, const Tensor<1>& weights, double p, double samples);

}  // namespace attn
