#include "attn/efficient/feature_maps.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "attn/ops/arithmetic.hpp"
#include "attn/ops/shape_mismatch.hpp"

namespace attn {

template <class T>
Tensor<T, 2> elu_plus_one(const Tensor<T, 2>& x) {
  Tensor<T, 2> features(x.shape());
  std::transform(x.begin(), x.end(), features.begin(), [](T element) {
    const auto wide = static_cast<double>(element);
    return static_cast<T>(wide > 0.0 ? wide + 1.0 : std::exp(wide));
  });
  return features;
}

template <class T>
Tensor<T, 2> positive_random_features(const Tensor<T, 2>& x, const Tensor<T, 2>& omega, Meter& meter) {
  if (x.shape(1) != omega.shape(1))
    throw shape_mismatch("positive_random_features", "x", x, "omega", omega, "the last axes must match");
  const std::size_t d_k = x.shape(1), count = omega.shape(0);
  const double fourth_root = std::pow(static_cast<double>(d_k), 0.25);
  const auto directions = as_float64(omega);
  Tensor<T, 2> features({x.shape(0), count});
  for (std::size_t i = 0; i < x.shape(0); ++i) {
    std::vector<double> y(d_k);
    for (std::size_t c = 0; c < d_k; ++c) y[c] = static_cast<double>(x(i, c)) / fourth_root;
    const double half_square = meter.dot(y.data(), y.data(), d_k) / 2.0;
    for (std::size_t m = 0; m < count; ++m) {
      const double projection = meter.dot(directions.data() + m * d_k, y.data(), d_k);
      features(i, m) =
          static_cast<T>(std::exp(projection - half_square) / std::sqrt(static_cast<double>(count)));
    }
  }
  return features;
}

#define INSTANTIATE(T)                                     \
  template Tensor<T, 2> elu_plus_one(const Tensor<T, 2>&); \
  template Tensor<T, 2> positive_random_features(const Tensor<T, 2>&, const Tensor<T, 2>&, Meter&);
INSTANTIATE(float)
INSTANTIATE(double)

}  // namespace attn
