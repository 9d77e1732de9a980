#pragma once

#include "attn/ops/precision.hpp"
#include "attn/tensor.hpp"

namespace attn {

/// softmax in the two ways of writing it down, along the last axis, for the narrower formats as well: each
/// element of each intermediate is computed in float64 and rounded once to `precision`, which must not be
/// wider than T; sums are rounded once. Instantiated for float and double.

/// exp(x) / Σ exp(x).
struct NaiveSoftmax {
  Tensor<2> exp;        ///< [query×key]
  Tensor<1> sum;        ///< [query]
  Tensor<2> weights;    ///< [query×key]; NaN from ∞/∞ and from 0/0
  Tensor<1> logsumexp;  ///< [query], ln of the sum
};
NaiveSoftmax naive_softmax(const Tensor<2>& scores, Dtype precision = Dtype::float64);

/// exp(x − max x) / Σ exp(x − max x). Unlike `softmax` it knows no fully masked rows: a row of −∞ is NaN, as
/// it is in NumPy and PyTorch.
struct StableSoftmax {
  Tensor<1> max;          ///< [query]
  Tensor<2> shifted;      ///< [query×key], scores − max
  Tensor<2> exp;          ///< [query×key], at most 1
  Tensor<1> sum;          ///< [query], from 1 to the number of keys
  Tensor<2> weights;      ///< [query×key]
  Tensor<1> logsumexp;    ///< [query], max + ln of the sum
  Tensor<2> log_weights;  ///< [query×key], shifted − ln of the sum

  Tensor<2> log_of_weights;  ///< [query×key], ln of the weights: −∞ for those that have become 0
};
StableSoftmax stable_softmax(const Tensor<2>& scores, Dtype precision = Dtype::float64);

/// How far logsumexp lies outside of what a soft maximum may be, from the largest score to ln(number of keys)
/// above it: the largest over the rows, 0 where it lies within; NaN where one is NaN.
double distance_from_soft_maximum(const StableSoftmax& stable);

}  // namespace attn
