#include "attn/efficient/feature_maps.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "attn/ops/arithmetic.hpp"
#include "attn/ops/shape_mismatch.hpp"

namespace attn {

Tensor<2> elu_plus_one(const Tensor<2>& x) {
  Tensor<2> features(x.shape());
  std::transform(x.begin(), x.end(), features.begin(),
                 [](double element) { return element > 0.0 ? element + 1.0 : std::exp(element); });
  return features;
}

Tensor<2> positive_random_features(const Tensor<2>& x, const Tensor<2>& omega, Meter& meter) {
  if (x.shape(1) != omega.shape(1))
    throw shape_mismatch("positive_random_features", "x", x, "omega", omega, "the last axes must match");
  const std::size_t d_k = x.shape(1), count = omega.shape(0);
  const double fourth_root = std::pow(static_cast<double>(d_k), 0.25);
  Tensor<2> features({x.shape(0), count});
  for (std::size_t i = 0; i < x.shape(0); ++i) {
    std::vector<double> y(d_k);
    for (std::size_t c = 0; c < d_k; ++c) y[c] = static_cast<double>(x(i, c)) / fourth_root;
    const double half_square = meter.dot(y.data(), y.data(), d_k) / 2.0;
    for (std::size_t m = 0; m < count; ++m) {
      const double projection = meter.dot(omega.data() + m * d_k, y.data(), d_k);
      features(i, m) =
          static_cast<double>(std::exp(projection - half_square) / std::sqrt(static_cast<double>(count)));
    }
  }
  return features;
}


}  // namespace attn
