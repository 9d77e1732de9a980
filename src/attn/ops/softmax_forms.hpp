#pragma once

#include "attn/ops/precision.hpp"
#include "attn/tensor.hpp"

namespace attn {

/// softmax in the two ways of writing it down, along the last axis, for the narrower formats as well: each
/// element of each intermediate is computed in float64 and rounded once to `precision`, which must not be
/// wider than T; sums are rounded once. Instantiated for float and double.

/// exp(x) / Σ exp(x).
template <class T>
struct NaiveSoftmax {
  Tensor<T, 2> exp;        ///< [query×key]
  Tensor<T, 1> sum;        ///< [query]
  Tensor<T, 2> weights;    ///< [query×key]; NaN from ∞/∞ and from 0/0
  Tensor<T, 1> logsumexp;  ///< [query], ln of the sum
};
template <class T>
NaiveSoftmax<T> naive_softmax(const Tensor<T, 2>& scores, Precision precision = precision_of<T>());

/// exp(x − max x) / Σ exp(x − max x). Unlike `softmax` it knows no fully masked rows: a row of −∞ is NaN, as
/// it is in NumPy and PyTorch.
template <class T>
struct StableSoftmax {
  Tensor<T, 1> max;          ///< [query]
  Tensor<T, 2> shifted;      ///< [query×key], scores − max
  Tensor<T, 2> exp;          ///< [query×key], at most 1
  Tensor<T, 1> sum;          ///< [query], from 1 to the number of keys
  Tensor<T, 2> weights;      ///< [query×key]
  Tensor<T, 1> logsumexp;    ///< [query], max + ln of the sum
  Tensor<T, 2> log_weights;  ///< [query×key], shifted − ln of the sum

  Tensor<T, 2> log_of_weights;  ///< [query×key], ln of the weights: −∞ for those that have become 0
};
template <class T>
StableSoftmax<T> stable_softmax(const Tensor<T, 2>& scores, Precision precision = precision_of<T>());

/// How far logsumexp lies outside of what a soft maximum may be, from the largest score to ln(number of keys)
/// above it: the largest over the rows, 0 where it lies within; NaN where one is NaN.
template <class T>
double distance_from_soft_maximum(const StableSoftmax<T>& stable);

}  // namespace attn
