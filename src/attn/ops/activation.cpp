#include "attn/ops/activation.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "attn/ops/shape_mismatch.hpp"

namespace attn {

Tensor<3> relu(const Tensor<3>& x) {
  Tensor<3> result(x.shape());
  std::transform(x.begin(), x.end(), result.begin(), [](double element) { return std::max(element, 0.0); });
  return result;
}

/// By erfc(−z) = 1 + erf(z), which keeps its digits where erf comes close to −1.
Tensor<3> gelu(const Tensor<3>& x) {
  Tensor<3> result(x.shape());
  std::transform(x.begin(), x.end(), result.begin(),
                 [](double element) { return element / 2.0 * std::erfc(-element / std::numbers::sqrt2); });
  return result;
}

Tensor<3> activate(Activation activation, const Tensor<3>& x) {
  return activation == Activation::relu ? relu(x) : gelu(x);
}

Tensor<3> activate_backward(Activation activation, const Tensor<3>& x, const Tensor<3>& d_y) {
  if (x.shape() != d_y.shape())
    throw shape_mismatch("activate_backward", "x", x, "d_y", d_y, "the shapes must be equal");
  Tensor<3> d_x(x.shape());
  std::transform(x.begin(), x.end(), d_y.begin(), d_x.begin(), [&](double element, double d) {
    if (activation == Activation::relu) return element > 0.0 ? d : 0.0;
    const double below = std::erfc(-element / std::numbers::sqrt2) / 2.0;
    const double density =
        std::exp(-element * element / 2.0) * std::numbers::inv_sqrtpi / std::numbers::sqrt2;
    return d * (below + element * density);
  });
  return d_x;
}

WorkedOut worked_activation_backward(Activation activation, WorkedOut x, Known<3> d_y) {
  return [=](const Index& at) {
    const auto element = x(at);
    if (activation == Activation::relu) return Worked::product({d_y(at), Worked::less(Worked(0.0), element)});
    const auto below = Worked::sum({Worked(1.0), erf(element / sqrt(Worked(2.0)))}) / Worked(2.0);
    const auto density = exp(-(square(element) / Worked(2.0))) / sqrt(Worked(2.0 * std::numbers::pi));
    return Worked::product({d_y(at), Worked::sum({below, Worked::product({element, density})})});
  };
}

}  // namespace attn
