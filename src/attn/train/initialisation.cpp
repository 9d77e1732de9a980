#include "attn/train/initialisation.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "attn/ops/matmul.hpp"
#include "attn/ops/measure.hpp"
#include "attn/ops/shape_mismatch.hpp"

namespace attn {

namespace {

/// s times layer `index` of Z.
Tensor<2> weight_of_layer(const Tensor<3>& Z, std::size_t index, double s) {
  auto W = Tensor<2>::from_shape({Z.shape(1), Z.shape(2)});
  std::transform(&Z(index, 0, 0), &Z(index, 0, 0) + W.size(), W.begin(),
                 [s](double z) { return static_cast<double>(s * static_cast<double>(z)); });
  return W;
}

Tensor<2> relu(Tensor<2> x) {
  for (double& element : x) element = std::max(element, double{0});
  return x;
}

double mean_square(const Tensor<2>& x) {
  return sum_of_products(x, x) / static_cast<double>(x.size());
}

/// √(2/d · tr(A²)/tr(A)²), A = xᵀx.
double relative_error_of_next(const Tensor<2>& x) {
  const auto A = matmul(transpose(x), x);
  const double trace = sum_of_products(x, x), trace_of_square = sum_of_products(A, A);
  return std::sqrt(2.0 / static_cast<double>(x.shape(1)) * trace_of_square) / trace;
}

}  // namespace

VarianceThroughLayers variance_through_layers(const Tensor<2>& x, const Tensor<3>& Z, double s,
                                                 Between between) {
  const auto d = x.shape(1);
  if (Z.shape(1) != d || Z.shape(2) != d)
    throw shape_mismatch("variance_through_layers", "x", x, "Z", Z, "each layer must be as wide as x is");
  const auto layers = Z.shape(0);
  VarianceThroughLayers followed = {xt::zeros<double>({layers + 1}), xt::zeros<double>({layers + 1})};
  Tensor<2> y = x;
  followed.variance(0) = static_cast<double>(mean_square(x));
  const double expected_ratio = static_cast<double>(d) * s * s;
  for (std::size_t l = 0; l < layers; ++l) {
    if (between == Between::nothing)
      followed.standard_error(l + 1) = static_cast<double>(expected_ratio * relative_error_of_next(y));
    else if (l > 0)
      y = relu(std::move(y));
    y = matmul(y, weight_of_layer(Z, l, s));
    followed.variance(l + 1) = static_cast<double>(mean_square(y));
  }
  return followed;
}

double error_of_ratios(const VarianceThroughLayers& followed, std::size_t layers) {
  double largest = 0.0;
  for (std::size_t l = 1; l <= layers; ++l) {
    const double ratio =
        static_cast<double>(followed.variance(l)) / static_cast<double>(followed.variance(l - 1));
    largest = maximum({largest, std::abs(ratio - 1.0) / static_cast<double>(followed.standard_error(l))});
  }
  return largest;
}


}  // namespace attn
