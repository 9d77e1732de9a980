/// How large numbers are after many freshly drawn layers. Sources: Glorot and Bengio 2010, "Understanding the
/// difficulty of training deep feedforward neural networks"; He et al. 2015, "Delving Deep into Rectifiers".
/// Products are summed in order here, so that all digits are the same on every machine.

#include <cmath>
#include <xtensor/xmath.hpp>
#include <xtensor/xview.hpp>

#include "attn/ops/matmul.hpp"
#include "attn/ops/measure.hpp"
#include "attn/ops/shape_mismatch.hpp"
#include "lessons/training.hpp"

namespace lessons {

namespace {

using attn::Tensor;

/// √(2/d · tr(A²)/tr(A)²), A = xᵀx; 0 where x has vanished.
double relative_error_of_next(const Tensor<2>& x) {
  const auto A = attn::matmul_in_order(attn::transpose(x), x);
  const double trace = attn::sum_of_products(x, x), trace_of_square = attn::sum_of_products(A, A);
  if (trace == 0.0) return 0.0;
  return std::sqrt(2.0 / static_cast<double>(x.shape(1)) * trace_of_square) / trace;
}

}  // namespace

VarianceThroughLayers variance_through_layers(const Tensor<2>& x, const Tensor<3>& Z, double s,
                                              Between between) {
  const auto d = x.shape(1), layers = Z.shape(0);
  if (Z.shape(1) != d || Z.shape(2) != d)
    throw attn::shape_mismatch("variance_through_layers", "x", x, "Z", Z,
                               "each layer must be as wide as x is");
  const auto mean_square = [](const Tensor<2>& y) {
    return attn::sum_of_products(y, y) / static_cast<double>(y.size());
  };
  VarianceThroughLayers followed = {xt::zeros<double>({layers + 1}), xt::zeros<double>({layers + 1})};
  followed.variance(0) = mean_square(x);
  Tensor<2> y = x;
  for (std::size_t l = 0; l < layers; ++l) {
    if (between == Between::nothing)
      followed.standard_error(l + 1) = static_cast<double>(d) * s * s * relative_error_of_next(y);
    else if (l > 0)
      y = xt::maximum(y, 0.0);
    y = attn::matmul_in_order(y, Tensor<2>(s * xt::view(Z, l)));
    followed.variance(l + 1) = mean_square(y);
  }
  return followed;
}

}  // namespace lessons
