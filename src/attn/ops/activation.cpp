#include "attn/ops/activation.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace attn {

template <class T>
Tensor<T, 3> relu(const Tensor<T, 3>& x) {
  Tensor<T, 3> result(x.shape());
  std::transform(x.begin(), x.end(), result.begin(), [](T element) { return std::max(element, T{0}); });
  return result;
}

/// By erfc(−z) = 1 + erf(z), which keeps its digits where erf comes close to −1.
template <class T>
Tensor<T, 3> gelu(const Tensor<T, 3>& x) {
  Tensor<T, 3> result(x.shape());
  std::transform(x.begin(), x.end(), result.begin(), [](T element) {
    const auto number = static_cast<double>(element);
    return static_cast<T>(number / 2.0 * std::erfc(-number / std::numbers::sqrt2));
  });
  return result;
}

template <class T>
Tensor<T, 3> activate(Activation activation, const Tensor<T, 3>& x) {
  return activation == Activation::relu ? relu(x) : gelu(x);
}

#define INSTANTIATE(T)                             \
  template Tensor<T, 3> relu(const Tensor<T, 3>&); \
  template Tensor<T, 3> gelu(const Tensor<T, 3>&); \
  template Tensor<T, 3> activate(Activation, const Tensor<T, 3>&);
INSTANTIATE(float)
INSTANTIATE(double)

}  // namespace attn
