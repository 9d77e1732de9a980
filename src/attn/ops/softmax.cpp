#include "attn/ops/softmax.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <span>
#include <vector>
#include <xtensor/xmath.hpp>
#include <xtensor/xnoalias.hpp>

#include "attn/ops/shape_mismatch.hpp"

namespace attn {

namespace {

bool is_masked(std::span<const double> row) {
  return std::all_of(row.begin(), row.end(),
                     [](double score) { return score == -std::numeric_limits<double>::infinity(); });
}

/// Overwrites a row of scores with their weights.
void softmax_row(std::span<double> row) {
  const double largest = *std::max_element(row.begin(), row.end());
  double sum = 0.0;
  for (double& score : row) sum += score = std::exp(score - largest);
  for (double& exponential : row) exponential /= sum;
}

}  // namespace

void softmax_rows(double* scores, std::size_t rows, std::size_t length) {
  for (std::size_t i = 0; i < rows; ++i) {
    const std::span row(scores + i * length, length);
    if (is_masked(row))
      std::fill(row.begin(), row.end(), 0.0);
    else
      softmax_row(row);
  }
}

template <std::size_t N>
Tensor<N> softmax(Tensor<N> scores) requires Rank<N, 1, 4> {
  if (scores.size() == 0) return scores;
  constexpr double hidden = -std::numeric_limits<double>::infinity();
  const Tensor<N> largest = xt::amax(scores, {N - 1}, xt::keep_dims);
  xt::noalias(scores) = xt::exp(scores - xt::where(xt::equal(largest, hidden), 0.0, largest));
  const Tensor<N> sums = xt::sum(scores, {N - 1}, xt::keep_dims);
  scores /= xt::where(xt::equal(sums, 0.0), 1.0, sums);
  return scores;
}

template <std::size_t N>
Tensor<N> softmax_backward(const Tensor<N>& weights, const Tensor<N>& d_weights) requires Rank<N, 1, 4> {
  if (weights.shape() != d_weights.shape())
    throw shape_mismatch("softmax_backward", "weights", weights, "d_weights", d_weights,
                         "the shapes must be equal");
  Tensor<N> d_scores(weights.shape());
  const std::size_t length = weights.shape().back();
  for (std::size_t begin = 0; begin < weights.size(); begin += length) {
    const std::span w(weights.data() + begin, length), d(d_weights.data() + begin, length);
    const double mean =
        std::inner_product(w.begin(), w.end(), d.begin(), 0.0, std::plus<>(), std::multiplies<double>());
    for (std::size_t j = 0; j < length; ++j) d_scores.data()[begin + j] = w[j] * (d[j] - mean);
  }
  return d_scores;
}

template <std::size_t N>
Tensor<N - 1> log_sum_exp(const Tensor<N>& scores) requires Rank<N, 3, 4> {
  const std::size_t length = scores.shape().back();
  std::array<std::size_t, N - 1> shape;
  std::copy_n(scores.shape().begin(), N - 1, shape.begin());
  Tensor<N - 1> result(shape);
  for (std::size_t i = 0; i < result.size(); ++i) {
    const std::span row(scores.data() + i * length, length);
    const double largest = *std::max_element(row.begin(), row.end());
    double sum = 0.0;
    for (const double score : row) sum += std::exp(score - largest);
    result.data()[i] = std::isinf(largest) ? largest : largest + std::log(sum);
  }
  return result;
}

template <std::size_t N>
Tensor<N> softmax_from(Tensor<N> scores, const Tensor<N - 1>& log_sum_exp) requires Rank<N, 3, 4> {
  const std::size_t length = scores.shape().back();
  if (log_sum_exp.size() * length != scores.size())
    throw shape_mismatch("softmax_from", "scores", scores, "log_sum_exp", log_sum_exp,
                         "there must be one number for each row");
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const double of_row = log_sum_exp.data()[i / length];
    scores.data()[i] = std::isinf(of_row) ? 0.0 : std::exp(scores.data()[i] - of_row);
  }
  return scores;
}

namespace {

bool is_hidden(const Worked& score) {
  return score.value() == -std::numeric_limits<double>::infinity();
}

/// The entries along the last axis.
std::vector<Worked> row_of(const WorkedOut& x, std::size_t length, Index at) {
  std::vector<Worked> row;
  for (at.back() = 0; at.back() < length; ++at.back()) row.push_back(x(at));
  return row;
}

}  // namespace

template <std::size_t N>
WorkedOut worked_softmax(Known<N> scores, double divisor) requires Rank<N, 1, 4> {
  return worked_softmax(WorkedOut(scores), scores.tensor.shape().back(), divisor);
}

WorkedOut worked_softmax(WorkedOut scores, std::size_t length, double divisor) {
  return [=](const Index& at) {
    constexpr double largest_without_shift = 30.0;
    if (is_hidden(scores(at))) return Worked(0.0);
    const auto row = row_of(scores, length, at);
    const auto largest = *std::max_element(
        row.begin(), row.end(), [](const Worked& x, const Worked& y) { return x.value() < y.value(); });
    const bool is_shifted = std::abs(largest.value() / divisor) > largest_without_shift;
    const auto exponential = [&](const Worked& score) {
      const auto shifted = is_shifted ? score - largest : score;
      return exp(divisor == 1.0 ? shifted : shifted / Worked(divisor));
    };
    std::vector<Worked> exponentials;
    for (const auto& score : row)
      if (!is_hidden(score)) exponentials.push_back(exponential(score));
    return exponential(scores(at)) / Worked::sum(std::move(exponentials));
  };
}

template <std::size_t N>
WorkedOut worked_softmax_backward(Known<N> weights, Known<N> d_weights) requires Rank<N, 3, 4> {
  return [=](const Index& at) {
    const std::size_t length = weights.tensor.shape(N - 1);
    const auto w = row_of(weights, length, at), d = row_of(d_weights, length, at);
    std::vector<Worked> products;
    for (std::size_t k = 0; k < w.size(); ++k) products.push_back(Worked::product({w[k], d[k]}));
    return Worked::product({weights(at), d_weights(at) - Worked::sum(std::move(products))});
  };
}

template <std::size_t N>
WorkedOut worked_log_sum_exp(Known<N> scores) requires Rank<N, 3, 4> {
  return [=](Index at) {
    at.push_back(0);
    std::vector<Worked> terms;
    for (const auto& score : row_of(scores, scores.tensor.shape(N - 1), at))
      if (!is_hidden(score)) terms.push_back(exp(score));
    return terms.empty() ? Worked(-std::numeric_limits<double>::infinity()) : log(Worked::sum(terms));
  };
}

#define INSTANTIATE(N)                                                     \
  template Tensor<N> softmax(Tensor<N>);                                   \
  template Tensor<N> softmax_backward(const Tensor<N>&, const Tensor<N>&); \
  template WorkedOut worked_softmax(Known<N>, double);
INSTANTIATE(1)
INSTANTIATE(2)
INSTANTIATE(3)
INSTANTIATE(4)
#undef INSTANTIATE

#define INSTANTIATE(N)                                              \
  template Tensor<N - 1> log_sum_exp(const Tensor<N>&);             \
  template Tensor<N> softmax_from(Tensor<N>, const Tensor<N - 1>&); \
  template WorkedOut worked_softmax_backward(Known<N>, Known<N>);   \
  template WorkedOut worked_log_sum_exp(Known<N>);
INSTANTIATE(3)
INSTANTIATE(4)
#undef INSTANTIATE

}  // namespace attn
