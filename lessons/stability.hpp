#pragma once

#include <optional>
#include <string>
#include <vector>

#include "attn/ops/precision.hpp"
#include "lessons/workbench/workbench.hpp"

namespace lessons {

/// Softmax along the last axis in the two ways of writing it down, in any format that is not wider than the
/// run's: each element of each step is computed in float64 and rounded once to the format; so are sums.

/// exp(x) / Σ exp(x).
struct NaiveSoftmax {
  Tensor<2> exp;      ///< [query×key]
  Tensor<1> sum;      ///< [query]
  Tensor<2> weights;  ///< [query×key]; NaN from ∞/∞ and from 0/0
};

/// The steps `naive/…`.
NaiveSoftmax naive_softmax(Workbench& bench, const Tensor<2>& scores, attn::Dtype format);

/// exp(x − max x) / Σ exp(x − max x). Unlike attn::softmax it knows no fully masked rows: a row of −∞ is NaN,
/// as it is in NumPy and PyTorch.
struct StableSoftmax {
  Tensor<1> max;      ///< [query]
  Tensor<2> shifted;  ///< [query×key], scores − max
  Tensor<2> exp;      ///< [query×key], at most 1
  Tensor<1> sum;      ///< [query], from 1 to the number of keys
  Tensor<2> weights;  ///< [query×key]
};

/// The steps `stable/…`.
StableSoftmax stable_softmax(Workbench& bench, const Tensor<2>& scores, attn::Dtype format);

/// Four ways to the logarithm of a sum of exponentials and of a weight.
struct LogSumExp {
  Tensor<1> naive;           ///< [query], ln of the naive sum
  Tensor<1> stable;          ///< [query], max + ln of the stable sum
  Tensor<2> log_of_weights;  ///< [query×key], ln of the weights: −∞ for those that have become 0
  Tensor<2> log_weights;     ///< [query×key], shifted − ln of the stable sum
};

/// The steps `logsumexp/…`.
LogSumExp log_sum_exp(Workbench& bench, const NaiveSoftmax& naive, const StableSoftmax& stable,
                      attn::Dtype format);

/// Softmax of the same scores in one format, both ways.
struct BothForms {
  attn::Dtype format;
  Tensor<2> scores;  ///< [query×key], rounded to the format
  NaiveSoftmax naive;
  StableSoftmax stable;
  LogSumExp logsumexp;
};

/// What hides a key in half precision.
struct Fills {
  Tensor<1> scores;                                     ///< [key]
  Tensor<2> weights_1e9, weights_65504, weights_added;  ///< [query×key]: the last key hidden, all keys hidden
};

/// The group `float16/`: what becomes of −10⁹ and −65504 as masks for the scores [key] of one query.
Fills show_fills(Workbench& bench, const Tensor<1>& scores);

/// A line for each fill: the weight of the hidden key, and what the row has in which all keys are hidden.
std::string weights_under(const Fills& fills);

/// The steps `temperature/…`: softmax(scores / T) for temperatures from 0.01 to 100 and what it does to
/// entropy and gradient. Returns the entropies, the one of the lowest temperature first.
Tensor<1> show_temperatures(Workbench& bench, const Tensor<1>& scores);

/// The claims about all this. The first of `formats` is that of the run; without halves there are no fills.
void claim_stability(Workbench& bench, const std::vector<BothForms>& formats,
                     const std::optional<Fills>& fills, const Tensor<1>& entropy);

/// How far log-sum-exp [query] lies outside of what a soft maximum may be, from the largest score [query] to
/// ln(number of keys) above it: the largest over the rows, 0 where it lies within; NaN where one is NaN.
double distance_from_soft_maximum(const Tensor<1>& logsumexp, const Tensor<1>& max, std::size_t keys);

/// How many elements of `exponentials` are finite although the score beside them is above the format's
/// threshold, or infinite although it is not. Throws std::invalid_argument where the shapes differ.
std::int64_t count_unforeseen(const Tensor<2>& scores, const Tensor<2>& exponentials, attn::Dtype format);

}  // namespace lessons
