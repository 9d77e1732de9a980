#pragma once

#include <xtensor/xmath.hpp>
#include <xtensor/xview.hpp>

#include "attn/ops/matmul.hpp"
#include "attn/tensor.hpp"

/// The learned scoring functions, written down from the elementary operations: what the pages are held
/// against.
namespace plain {

using attn::Tensor;

/// qᵢ · kⱼ.
inline Tensor<2> dot_scores(const Tensor<2>& queries, const Tensor<2>& keys) {
  return attn::matmul(queries, attn::transpose(keys));
}

inline Tensor<2> general_scores(const Tensor<2>& queries, const Tensor<2>& W_a, const Tensor<2>& keys) {
  return dot_scores(attn::matmul(queries, W_a), keys);
}

struct HiddenScores {
  Tensor<3> pairs, hidden;
  Tensor<2> scores;
};

inline Tensor<2> dot_last_axis(const Tensor<3>& hidden, const Tensor<1>& v) {
  return xt::sum(hidden * v, {2});
}

inline HiddenScores additive_scores(const Tensor<2>& queries, const Tensor<2>& keys, const Tensor<2>& W_q,
                                    const Tensor<2>& W_k, const Tensor<1>& v_a) {
  const auto q = attn::matmul(queries, W_q), k = attn::matmul(keys, W_k);
  const Tensor<3> hidden = xt::tanh(xt::view(q, xt::all(), xt::newaxis()) + xt::view(k, xt::newaxis()));
  return {{}, hidden, dot_last_axis(hidden, v_a)};
}

inline HiddenScores concat_scores(const Tensor<2>& queries, const Tensor<2>& keys, const Tensor<2>& W_c,
                                  const Tensor<1>& v_a) {
  const std::size_t d = queries.shape(1);
  Tensor<3> pairs({queries.shape(0), keys.shape(0), 2 * d});
  xt::view(pairs, xt::all(), xt::all(), xt::range(std::size_t{0}, d)) =
      xt::view(queries, xt::all(), xt::newaxis());
  xt::view(pairs, xt::all(), xt::all(), xt::range(d, 2 * d)) = xt::view(keys, xt::newaxis());
  const Tensor<3> hidden = xt::tanh(attn::linear(pairs, W_c));
  return {pairs, hidden, dot_last_axis(hidden, v_a)};
}

}  // namespace plain
