#pragma once

#include "attn/ops/arithmetic.hpp"
#include "attn/ops/matmul.hpp"
#include "attn/ops/scoring.hpp"

/// The learned scoring functions, written down from the elementary operations: what the pages are held against.
namespace plain {

using attn::Tensor;

inline Tensor<2> general_scores(const Tensor<2>& queries, const Tensor<2>& W_a, const Tensor<2>& keys) {
  return attn::dot_scores(attn::matmul(queries, W_a), keys);
}

struct HiddenScores {
  Tensor<3> pairs, hidden;
  Tensor<2> scores;
};

inline HiddenScores additive_scores(const Tensor<2>& queries, const Tensor<2>& keys, const Tensor<2>& W_q,
                                    const Tensor<2>& W_k, const Tensor<1>& v_a) {
  const auto hidden = attn::tanh(attn::pairwise_sum(attn::matmul(queries, W_q), attn::matmul(keys, W_k)));
  return {{}, hidden, attn::dot_last_axis(hidden, v_a)};
}

inline HiddenScores concat_scores(const Tensor<2>& queries, const Tensor<2>& keys, const Tensor<2>& W_c,
                                  const Tensor<1>& v_a) {
  const auto pairs = attn::pairwise_concat(queries, keys);
  const auto hidden = attn::tanh(attn::linear(pairs, W_c));
  return {pairs, hidden, attn::dot_last_axis(hidden, v_a)};
}

}  // namespace plain
