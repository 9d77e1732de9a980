#include "attn/ops/measure.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <utility>
#include <xtensor/xmath.hpp>

#include "attn/ops/shape_mismatch.hpp"

namespace attn {

namespace {

/// The larger of two numbers; NaN where one is NaN.
struct Larger {
  double operator()(double a, double b) const { return std::isnan(a) || a > b ? a : b; }
};

/// The largest along the axis; NaN where one is NaN.
template <class X>
auto largest_along(X&& x, std::size_t axis) {
  return xt::reduce(xt::make_xreducer_functor(Larger(), xt::const_value<double>(0.0)), std::forward<X>(x),
                    {axis});
}

/// The largest of numbers that are 0 or more; NaN where one is NaN, 0 where there is none.
template <class Rows>
double largest_of(const Rows& rows) {
  return std::accumulate(rows.begin(), rows.end(), 0.0, Larger());
}

double size_of(double number) {
  return std::abs(number);
}

/// The mean of the numbers of all rows.
template <class Rows>
double mean_of(const Rows& rows) {
  return xt::sum(rows)() / static_cast<double>(rows.size());
}

/// Element by element: the closed form Σ w² − 2 Σ w³ + (Σ w²)² cancels when one weight is close to 1.
double jacobian_norm_of(std::span<const double> row) {
  double sum_of_squares = 0.0;
  for (std::size_t i = 0; i < row.size(); ++i) {
    const auto w_i = static_cast<double>(row[i]);
    const double diagonal = w_i * (1.0 - w_i);
    sum_of_squares += diagonal * diagonal;
    for (std::size_t j = 0; j < i; ++j) {
      const double product = w_i * static_cast<double>(row[j]);
      sum_of_squares += 2.0 * product * product;
    }
  }
  return std::sqrt(sum_of_squares);
}

}  // namespace

std::size_t argmax(const double* numbers, std::size_t count) {
  return static_cast<std::size_t>(std::max_element(numbers, numbers + count) - numbers);
}

double maximum(std::initializer_list<double> measurements) {
  return std::accumulate(measurements.begin(), measurements.end(), *measurements.begin(), Larger());
}

template <std::size_t N>
double max_abs(const Tensor<N>& x) requires Rank<N, 1, 4> {
  return std::transform_reduce(x.begin(), x.end(), 0.0, Larger(), size_of);
}

template <std::size_t N>
double max_abs_difference(const Tensor<N>& x, const Tensor<N>& y) requires Rank<N, 1, 4> {
  if (x.shape() != y.shape())
    throw shape_mismatch("max_abs_difference", "x", x, "y", y, "the shapes must be equal");
  const auto difference = [](double a, double b) { return a == b ? 0.0 : std::abs(a - b); };
  return std::transform_reduce(x.begin(), x.end(), y.begin(), 0.0, Larger(), difference);
}

template <std::size_t N>
double sum_of_products(const Tensor<N>& x, const Tensor<N>& y) requires Rank<N, 1, 4> {
  if (x.shape() != y.shape())
    throw shape_mismatch("sum_of_products", "x", x, "y", y, "the shapes must be equal");
  return std::inner_product(x.begin(), x.end(), y.begin(), 0.0);
}

template <std::size_t N>
double row_sum_deviation(const Tensor<N>& weights) requires Rank<N, 1, 4> {
  if (weights.size() == 0) return 0.0;
  const auto is_zero = xt::equal(xt::sum(xt::not_equal(weights, 0.0), {N - 1}), 0);
  return largest_of(xt::where(is_zero, 0.0, xt::abs(xt::sum(weights, {N - 1}) - 1.0)));
}

double row_sum_deviation(const Tensor<3>& weights, const Mask<3>& mask) {
  if (weights.shape() != mask.shape())
    throw shape_mismatch("row_sum_deviation", "weights", weights, "mask", mask, "the shapes must be equal");
  if (weights.size() == 0) return 0.0;
  const auto sees_nothing = xt::equal(xt::sum(xt::cast<std::size_t>(mask), {2}), 0);
  return largest_of(xt::where(sees_nothing, 0.0, xt::abs(xt::sum(weights, {2}) - 1.0)));
}

double largest_hidden_weight(const Tensor<3>& weights, const Mask<3>& mask) {
  if (weights.shape() != mask.shape())
    throw shape_mismatch("largest_hidden_weight", "weights", weights, "mask", mask,
                         "the shapes must be equal");
  const auto hidden = [](double weight, bool is_visible) { return is_visible ? 0.0 : std::abs(weight); };
  return std::transform_reduce(weights.begin(), weights.end(), mask.begin(), 0.0, Larger(), hidden);
}

template <std::size_t N>
double max_abs_row_sum(const Tensor<N>& x) requires Rank<N, 1, 4> {
  if (x.size() == 0) return 0.0;
  return largest_of(xt::abs(xt::sum(x, {N - 1})));
}

template <std::size_t N>
double mean_entropy(const Tensor<N>& weights) requires Rank<N, 1, 4> {
  if (weights.size() == 0) return 0.0;
  const auto terms = xt::where(xt::equal(weights, 0.0), 0.0, -weights * xt::log(weights));
  return mean_of(xt::sum(terms, {N - 1}));
}

template <std::size_t N>
double mean_max_weight(const Tensor<N>& weights) requires Rank<N, 1, 4> {
  if (weights.size() == 0) return 0.0;
  return mean_of(largest_along(weights, N - 1));
}

template <std::size_t N>
double mean_jacobian_norm(const Tensor<N>& weights) requires Rank<N, 1, 4> {
  const std::size_t length = weights.shape().back();
  double sum = 0.0;
  for (std::size_t begin = 0; begin < weights.size(); begin += length)
    sum += jacobian_norm_of(std::span(weights.data() + begin, length));
  return weights.size() == 0 ? 0.0 : sum * static_cast<double>(length) / static_cast<double>(weights.size());
}

#define INSTANTIATE(N)                                                    \
  template double max_abs(const Tensor<N>&);                              \
  template double max_abs_difference(const Tensor<N>&, const Tensor<N>&); \
  template double sum_of_products(const Tensor<N>&, const Tensor<N>&);    \
  template double row_sum_deviation(const Tensor<N>&);                    \
  template double max_abs_row_sum(const Tensor<N>&);                      \
  template double mean_entropy(const Tensor<N>&);                         \
  template double mean_max_weight(const Tensor<N>&);                      \
  template double mean_jacobian_norm(const Tensor<N>&);
INSTANTIATE(1)
INSTANTIATE(2)
INSTANTIATE(3)
INSTANTIATE(4)
#undef INSTANTIATE

Worked worked_entropy(const std::vector<Worked>& weights) {
  std::vector<Worked> terms;
  for (const auto& w : weights)
    if (w.value() != 0.0) terms.push_back(Worked::product({w, log(w)}));
  return terms.empty() ? Worked(0.0) : -Worked::sum(std::move(terms));
}

Worked worked_jacobian_norm(const std::vector<Worked>& weights) {
  std::vector<Worked> squares;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const auto& w = weights[i];
    squares.push_back(square(Worked::product({w, Worked(1.0) - w})));
    for (std::size_t j = 0; j < i; ++j)
      squares.push_back(Worked::product({2.0, square(Worked::product({w, weights[j]}))}));
  }
  return sqrt(Worked::sum(std::move(squares)));
}

}  // namespace attn
