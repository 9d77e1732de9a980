#pragma once

#include "attn/ops/precision.hpp"
#include "attn/ops/softmax_forms.hpp"
#include "lessons/workbench/workbench.hpp"

namespace lessons {

/// Softmax of the same scores in one format, both ways.
template <class T>
struct ShownSoftmax {
  attn::Precision precision;
  Tensor<T, 2> scores;  ///< [query×key], rounded to the format
  attn::NaiveSoftmax<T> naive;
  attn::StableSoftmax<T> stable;
};

/// Shows both forms step by step in the format of the run, and their main steps and the rounded `scores` in
/// any narrower one.
template <class T>
ShownSoftmax<T> show_softmax(Workbench<T>& bench, const Tensor<T, 2>& scores, attn::Precision precision);

/// Shows four ways to the logarithm of a sum of exponentials and of a weight.
template <class T>
void show_log_sum_exp(Workbench<T>& bench, const ShownSoftmax<T>& shown);

/// What hides a key in half precision.
template <class T>
struct ShownFills {
  Tensor<bool, 2> mask;  ///< [query×key]: the first query may not see the last key, the second none
  Tensor<T, 2> weights_1e9, weights_65504, weights_added;  ///< [query×key]
};

/// Shows what becomes of −10⁹ and −65504 as masks for the scores [key] of one query.
template <class T>
ShownFills<T> show_fills(Workbench<T>& bench, const Tensor<T, 1>& scores);

}  // namespace lessons
