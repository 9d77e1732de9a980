#include "attn/ops/scoring.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <utility>
#include <vector>

#include "attn/ops/arithmetic.hpp"
#include "attn/ops/matmul.hpp"
#include "attn/ops/shape_mismatch.hpp"

namespace attn {

Tensor<2> dot_scores(const Tensor<2>& queries, const Tensor<2>& keys) {
  return matmul(queries, transpose(keys));
}

Tensor<3> pairwise_sum(const Tensor<2>& a, const Tensor<2>& b) {
  if (a.shape(1) != b.shape(1))
    throw shape_mismatch("pairwise_sum", "a", a, "b", b, "the last axes must match");
  const std::size_t d_a = a.shape(1);
  Tensor<3> sums({a.shape(0), b.shape(0), d_a});
  double* sum = sums.data();
  for (std::size_t i = 0; i < a.shape(0); ++i)
    for (std::size_t j = 0; j < b.shape(0); ++j, sum += d_a)
      std::transform(&a(i, 0), &a(i, 0) + d_a, &b(j, 0), sum, std::plus());
  return sums;
}

Tensor<3> pairwise_concat(const Tensor<2>& queries, const Tensor<2>& keys) {
  if (queries.shape(1) != keys.shape(1))
    throw shape_mismatch("pairwise_concat", "queries", queries, "keys", keys, "the last axes must match");
  const std::size_t d = queries.shape(1);
  Tensor<3> pairs({queries.shape(0), keys.shape(0), 2 * d});
  double* pair = pairs.data();
  for (std::size_t i = 0; i < queries.shape(0); ++i)
    for (std::size_t j = 0; j < keys.shape(0); ++j)
      pair = std::copy_n(&keys(j, 0), d, std::copy_n(&queries(i, 0), d, pair));
  return pairs;
}

Tensor<2> stack_rows(const Tensor<2>& top, const Tensor<2>& bottom) {
  if (top.shape(1) != bottom.shape(1))
    throw shape_mismatch("stack_rows", "top", top, "bottom", bottom, "the numbers of columns must match");
  Tensor<2> stacked({top.shape(0) + bottom.shape(0), top.shape(1)});
  std::copy(bottom.begin(), bottom.end(), std::copy(top.begin(), top.end(), stacked.begin()));
  return stacked;
}

Tensor<2> dot_last_axis(const Tensor<3>& hidden, const Tensor<1>& v) {
  if (hidden.shape(2) != v.size())
    throw shape_mismatch("dot_last_axis", "hidden", hidden, "v", v, "the last axes must match");
  Tensor<2> scores({hidden.shape(0), hidden.shape(1)});
  const double* unit = hidden.data();
  for (double& score : scores) {
    score = std::inner_product(v.begin(), v.end(), unit, 0.0);
    unit += v.size();
  }
  return scores;
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

AdditiveGradients additive_scores_backward(const Tensor<3>& queries, const Tensor<3>& keys,
                                           const Tensor<1>& v_a, const Tensor<3>& d_scores) {
  if (d_scores.shape(1) != queries.shape(1) || d_scores.shape(2) != keys.shape(1))
    throw shape_mismatch("additive_scores_backward", "queries", queries, "d_scores", d_scores,
                         "there must be a score for each query and key");
  AdditiveGradients gradients = {Tensor<3>(queries.shape(), 0.0), Tensor<3>(keys.shape(), 0.0),
                                 Tensor<1>(v_a.shape(), 0.0)};
  for (std::size_t b = 0; b < d_scores.shape(0); ++b)
    for (std::size_t i = 0; i < d_scores.shape(1); ++i)
      for (std::size_t j = 0; j < d_scores.shape(2); ++j)
        for (std::size_t c = 0; c < v_a.size(); ++c) {
          const double hidden = std::tanh(queries(b, i, c) + keys(b, j, c));
          const double d_sum = d_scores(b, i, j) * v_a(c) * (1.0 - hidden * hidden);
          gradients.d_queries(b, i, c) += d_sum;
          gradients.d_keys(b, j, c) += d_sum;
          gradients.d_v_a(c) += d_scores(b, i, j) * hidden;
        }
  return gradients;
}

WorkedOut worked_tanh_of_pairwise_sum(Known<2> a, Known<2> b) {
  return [=](const Index& at) { return tanh(Worked::sum({a({at[0], at[2]}), b({at[1], at[2]})})); };
}

WorkedOut worked_dot_last_axis(Known<3> hidden, Known<1> v) {
  return [=](const Index& at) {
    std::vector<Worked> products;
    for (std::size_t c = 0; c < v.tensor.size(); ++c)
      products.push_back(Worked::product({hidden({at[0], at[1], c}), v({c})}));
    return Worked::sum(std::move(products));
  };
}

}  // namespace attn
