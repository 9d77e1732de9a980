#include "attn/ops/measure.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>
#include <xtensor/xadapt.hpp>
#include <xtensor/xmath.hpp>

namespace attn {

namespace {

/// The larger of two numbers; NaN where one is NaN.
struct Larger {
  double operator()(double a, double b) const { return std::isnan(a) || a > b ? a : b; }
};

}  // namespace

std::size_t argmax(const double* numbers, std::size_t count) {
  return static_cast<std::size_t>(std::max_element(numbers, numbers + count) - numbers);
}

double maximum(std::initializer_list<double> measurements) {
  return std::accumulate(measurements.begin(), measurements.end(), *measurements.begin(), Larger());
}

template <std::size_t N>
double max_abs(const Tensor<N>& x) requires Rank<N, 1, 4> {
  return std::transform_reduce(x.begin(), x.end(), 0.0, Larger(),
                               [](double number) { return std::abs(number); });
}

template <std::size_t N>
double max_abs_difference(const Tensor<N>& x, const Tensor<N>& y) requires Rank<N, 1, 4> {
  if (x.shape() != y.shape())
    throw shape_mismatch("max_abs_difference", "x", x, "y", y, "the shapes must be equal");
  const auto difference = [](double a, double b) { return a == b ? 0.0 : std::abs(a - b); };
  return std::transform_reduce(x.begin(), x.end(), y.begin(), 0.0, Larger(), difference);
}

template <std::size_t N>
double row_sum_deviation(const Tensor<N>& weights) requires Rank<N, 1, 4> {
  if (weights.size() == 0) return 0.0;
  const std::size_t size = weights.size(), length = weights.shape().back();
  const auto rows = xt::adapt(weights.data(), size, xt::no_ownership(), std::array{size / length, length});
  const Tensor<1> sums = xt::sum(rows, {1});
  const auto is_zero = xt::equal(xt::sum(xt::not_equal(rows, 0.0), {1}), 0);
  return max_abs(Tensor<1>(xt::where(is_zero, 0.0, sums - 1.0)));
}

#define INSTANTIATE(N)                                                    \
  template double max_abs(const Tensor<N>&);                              \
  template double max_abs_difference(const Tensor<N>&, const Tensor<N>&); \
  template double row_sum_deviation(const Tensor<N>&);
INSTANTIATE(1)
INSTANTIATE(2)
INSTANTIATE(3)
INSTANTIATE(4)
#undef INSTANTIATE

Worked worked_entropy(const std::vector<Worked>& weights) {
  std::vector<Worked> terms;
  for (const auto& w : weights)
    if (w.value() != 0.0) terms.push_back(Worked::product({w, Worked::call("log", {w})}));
  return terms.empty() ? Worked(0.0) : -Worked::sum(std::move(terms));
}

}  // namespace attn
