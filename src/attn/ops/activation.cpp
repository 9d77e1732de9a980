#include "attn/ops/activation.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

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

WorkedOut worked_activation(Activation activation, WorkedOut x) {
  return [=](const Index& at) {
    if (activation == Activation::relu) return max(Worked(0.0), x(at));
    return Worked::product({x(at) / Worked(2.0), Worked::sum({Worked(1.0), erf(x(at) / sqrt(Worked(2.0)))})});
  };
}

}  // namespace attn
