#pragma once

#include "attn/ops/precision.hpp"
#include "attn/ops/softmax_forms.hpp"
#include "lessons/workbench/workbench.hpp"

namespace lessons {

/// Softmax of the same scores in one format, both ways.
struct ShownSoftmax {
  attn::Dtype precision;
  Tensor<2> scores;  ///< [query×key], rounded to the format
  attn::NaiveSoftmax naive;
  attn::StableSoftmax stable;
};

/// Shows both forms step by step in the format of the run, and their main steps and the rounded `scores` in
/// any narrower one.
ShownSoftmax show_softmax(Workbench& bench, const Tensor<2>& scores, attn::Dtype precision);

/// Shows four ways to the logarithm of a sum of exponentials and of a weight.
void show_log_sum_exp(Workbench& bench, const ShownSoftmax& shown);

/// What hides a key in half precision.
struct ShownFills {
  Mask<2> mask;  ///< [query×key]: the first query may not see the last key, the second none
  Tensor<2> weights_1e9, weights_65504, weights_added;  ///< [query×key]
};

/// Shows what becomes of −10⁹ and −65504 as masks for the scores [key] of one query.
ShownFills show_fills(Workbench& bench, const Tensor<1>& scores);

}  // namespace lessons
