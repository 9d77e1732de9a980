#include "attn/ops/feature_maps.hpp"

#include <algorithm>
#include <cmath>
#include <xtensor/xmath.hpp>

#include "attn/ops/matmul.hpp"
#include "attn/ops/shape_mismatch.hpp"
#include "attn/ops/slice.hpp"

namespace attn {

Tensor<2> elu_plus_one(const Tensor<2>& x) {
  Tensor<2> features(x.shape());
  std::transform(x.begin(), x.end(), features.begin(),
                 [](double element) { return element > 0.0 ? element + 1.0 : std::exp(element); });
  return features;
}

Tensor<2> positive_random_features(const Tensor<2>& x, const Tensor<2>& omega, CostCounter& counter) {
  if (x.shape(1) != omega.shape(1))
    throw shape_mismatch("positive_random_features", "x", x, "omega", omega, "the last axes must match");
  const double root_of_count = std::sqrt(static_cast<double>(omega.shape(0)));
  const Tensor<2> y = x / std::pow(static_cast<double>(x.shape(1)), 0.25);
  auto features = counter.matmul(y, transpose(omega));
  for (std::size_t i = 0; i < y.shape(0); ++i) {
    const auto y_i = rows(y, i, i + 1);
    const double half_square = counter.matmul(y_i, transpose(y_i))(0, 0) / 2.0;
    for (std::size_t m = 0; m < omega.shape(0); ++m)
      features(i, m) = std::exp(features(i, m) - half_square) / root_of_count;
  }
  return features;
}

}  // namespace attn
