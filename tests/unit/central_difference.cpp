#include "tests/unit/central_difference.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "attn/ops/measure.hpp"
#include "attn/tensor.hpp"

namespace attn {

namespace {

/// x + step · direction.
template <std::size_t N>
Tensor<N> moved(const Tensor<N>& x, const Tensor<N>& direction, double step) {
  Tensor<N> result(x.shape());
  std::transform(x.begin(), x.end(), direction.begin(), result.begin(),
                 [step](double element, double change) { return element + step * change; });
  return result;
}

/// Σ a ∘ b.
template <std::size_t N>
double sum_of_products(const Tensor<N>& a, const Tensor<N>& b) {
  if (a.shape() != b.shape())
    throw shape_mismatch("central_difference", "a", a, "b", b, "the shapes must be equal");
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

/// (L(x + h·direction) − L(x − h·direction)) / 2h. The outputs are subtracted before they are summed, which
/// keeps the digits that a difference of two large sums would lose.
template <std::size_t N>
double central_difference(const GradientCheck<N>& check, const Tensor<N>& direction) {
  auto ahead = check.f(moved(check.x, direction, check.step));
  const auto behind = check.f(moved(check.x, direction, -check.step));
  std::transform(ahead.begin(), ahead.end(), behind.begin(), ahead.begin(), std::minus<>());
  return sum_of_products(ahead, check.d_output) / (2.0 * check.step);
}

}  // namespace

template <std::size_t N>
double deviation_along(const GradientCheck<N>& check, const Tensor<N>& direction) {
  if (check.x.shape() != direction.shape())
    throw shape_mismatch("central_difference", "x", check.x, "direction", direction,
                         "the shapes must be equal");
  const double expected = sum_of_products(check.gradient, direction);
  return std::abs(expected - central_difference(check, direction));
}

template <std::size_t N>
double deviation_entry_by_entry(const GradientCheck<N>& check) {
  Tensor<N> direction = xt::zeros<double>(check.x.shape());
  double largest = 0.0;
  for (double& entry : direction) {
    entry = 1.0;
    const double deviation = deviation_along(check, direction);
    if (std::isnan(deviation)) return deviation;
    largest = std::max(largest, deviation);
    entry = 0.0;
  }
  return largest;
}

template double deviation_entry_by_entry(const GradientCheck<2>&);
template double deviation_along(const GradientCheck<2>&, const Tensor<2>&);
template double deviation_entry_by_entry(const GradientCheck<3>&);
template double deviation_along(const GradientCheck<3>&, const Tensor<3>&);
template double deviation_entry_by_entry(const GradientCheck<4>&);
template double deviation_along(const GradientCheck<4>&, const Tensor<4>&);

}  // namespace attn
