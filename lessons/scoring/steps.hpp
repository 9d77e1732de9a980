#pragma once

#include <string>

#include "attn/ops/scoring.hpp"
#include "lessons/workbench/workbench.hpp"

namespace lessons {

/// Five functions that score queries [query×d_model] against keys [key×d_model]. Each shows `FUNCTION/scores`
/// [query×key], and before it what the scores are made of; sources in attn/ops/scoring.hpp.

Tensor<2> show_dot(Workbench& bench, const Tensor<2>& queries, const Tensor<2>& keys);

Tensor<2> show_scaled_dot(Workbench& bench, const Tensor<2>& queries, const Tensor<2>& keys);

/// With the input `W_a` [d_model×d_model].
Tensor<2> show_general(Workbench& bench, const Tensor<2>& queries, const Tensor<2>& W_a,
                          const Tensor<2>& keys);

/// With the inputs `W_q`, `W_k` [d_model×d_a] and `v_a` [d_a].
attn::AdditiveScores show_additive(Workbench& bench, const Tensor<2>& queries,
                                      const Tensor<2>& keys, const Tensor<2>& W_q,
                                      const Tensor<2>& W_k, const Tensor<1>& v_a);

/// The same weights as one matrix, the step `concat/W_c`.
attn::ConcatScores show_concat(Workbench& bench, const Tensor<2>& queries, const Tensor<2>& keys,
                                  const Tensor<2>& W_q, const Tensor<2>& W_k, const Tensor<1>& v_a);

/// What follows from the scores, whatever function they come from: shows `FUNCTION/weights`, which it
/// returns, and `FUNCTION/context`.
Tensor<2> show_context(Workbench& bench, const std::string& function, const Tensor<2>& scores,
                          const Tensor<2>& keys, const std::string& weights_note,
                          const std::string& context_note);

}  // namespace lessons
