#include "attn/ops/scoring.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numeric>

#include "attn/ops/arithmetic.hpp"
#include "attn/ops/matmul.hpp"
#include "attn/ops/shape_mismatch.hpp"

namespace attn {

template <std::size_t N>
Tensor<N> dot_scores(const Tensor<N>& queries, const Tensor<N>& keys) requires Rank<N, 2, 3> {
  return matmul(queries, transpose(keys));
}

namespace {

/// What `write(a's row, b's row, pair)` makes of every pair of rows: [query×d], [key×d] → [query×key×width].
template <std::size_t N, class Write>
Tensor<N + 1> of_pairs(const char* name, const Tensor<N>& a, const char* name_of_a, const Tensor<N>& b,
                       const char* name_of_b, std::size_t width, Write write) {
  const std::size_t d = a.shape(N - 1), rows = a.shape(N - 2), columns = b.shape(N - 2);
  if (b.shape(N - 1) != d) throw shape_mismatch(name, name_of_a, a, name_of_b, b, "the last axes must match");
  if (N == 3 && a.shape(0) != b.shape(0))
    throw shape_mismatch(name, name_of_a, a, name_of_b, b, "there must be as many samples");
  std::array<std::size_t, N + 1> shape{};
  std::copy(a.shape().begin(), a.shape().end() - 1, shape.begin());
  shape[N - 1] = columns;
  shape[N] = width;
  Tensor<N + 1> pairs(shape);
  double* pair = pairs.data();
  for (std::size_t sample = 0; sample < (N == 3 ? a.shape(0) : 1); ++sample)
    for (std::size_t i = 0; i < rows; ++i)
      for (std::size_t j = 0; j < columns; ++j, pair += width)
        write(a.data() + (sample * rows + i) * d, b.data() + (sample * columns + j) * d, pair);
  return pairs;
}

}  // namespace

template <std::size_t N>
Tensor<N + 1> pairwise_sum(const Tensor<N>& a, const Tensor<N>& b) requires Rank<N, 2, 3> {
  const std::size_t d = a.shape(N - 1);
  return of_pairs("pairwise_sum", a, "a", b, "b", d, [d](const double* x, const double* y, double* sum) {
    std::transform(x, x + d, y, sum, std::plus());
  });
}

template <std::size_t N>
Tensor<N + 1> pairwise_concat(const Tensor<N>& queries, const Tensor<N>& keys) requires Rank<N, 2, 3> {
  const std::size_t d = queries.shape(N - 1);
  return of_pairs("pairwise_concat", queries, "queries", keys, "keys", 2 * d,
                  [d](const double* query, const double* key, double* pair) {
                    std::copy_n(key, d, std::copy_n(query, d, pair));
                  });
}

Tensor<2> stack_rows(const Tensor<2>& top, const Tensor<2>& bottom) {
  if (top.shape(1) != bottom.shape(1))
    throw shape_mismatch("stack_rows", "top", top, "bottom", bottom, "the numbers of columns must match");
  Tensor<2> stacked({top.shape(0) + bottom.shape(0), top.shape(1)});
  std::copy(bottom.begin(), bottom.end(), std::copy(top.begin(), top.end(), stacked.begin()));
  return stacked;
}

template <std::size_t N>
Tensor<N - 1> dot_last_axis(const Tensor<N>& hidden, const Tensor<1>& v) requires Rank<N, 3, 4> {
  if (hidden.shape(N - 1) != v.size())
    throw shape_mismatch("dot_last_axis", "hidden", hidden, "v", v, "the last axes must match");
  std::array<std::size_t, N - 1> shape{};
  std::copy(hidden.shape().begin(), hidden.shape().end() - 1, shape.begin());
  Tensor<N - 1> scores(shape);
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

#define INSTANTIATE(N)                                                        \
  template Tensor<N> dot_scores(const Tensor<N>&, const Tensor<N>&);          \
  template Tensor<N + 1> pairwise_sum(const Tensor<N>&, const Tensor<N>&);    \
  template Tensor<N + 1> pairwise_concat(const Tensor<N>&, const Tensor<N>&); \
  template Tensor<N> dot_last_axis(const Tensor<N + 1>&, const Tensor<1>&);
INSTANTIATE(2)
INSTANTIATE(3)
#undef INSTANTIATE

}  // namespace attn
