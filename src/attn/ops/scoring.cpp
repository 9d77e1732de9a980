#include "attn/ops/scoring.hpp"

#include <algorithm>
#include <cmath>

#include "attn/ops/shape_mismatch.hpp"

namespace attn {

Tensor<2> stack_rows(const Tensor<2>& top, const Tensor<2>& bottom) {
  if (top.shape(1) != bottom.shape(1))
    throw shape_mismatch("stack_rows", "top", top, "bottom", bottom, "the numbers of columns must match");
  Tensor<2> stacked({top.shape(0) + bottom.shape(0), top.shape(1)});
  std::copy(bottom.begin(), bottom.end(), std::copy(top.begin(), top.end(), stacked.begin()));
  return stacked;
}

Tensor<3> additive_scores(const Tensor<3>& queries, const Tensor<3>& keys, const Tensor<1>& v_a) {
  const std::size_t d_a = v_a.size();
  if (keys.shape(2) != queries.shape(2))
    throw shape_mismatch("additive_scores", "queries", queries, "keys", keys, "the last axes must match");
  if (queries.shape(2) != d_a)
    throw shape_mismatch("additive_scores", "queries", queries, "v_a", v_a, "the last axes must match");
  Tensor<3> scores({queries.shape(0), queries.shape(1), keys.shape(1)});
  for (std::size_t b = 0; b < scores.shape(0); ++b)
    for (std::size_t i = 0; i < scores.shape(1); ++i)
      for (std::size_t j = 0; j < scores.shape(2); ++j) {
        double sum = 0.0;
        for (std::size_t c = 0; c < d_a; ++c) sum += v_a(c) * std::tanh(queries(b, i, c) + keys(b, j, c));
        scores(b, i, j) = sum;
      }
  return scores;
}

}  // namespace attn
