#include "attn/ops/arithmetic.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include "attn/ops/shape_mismatch.hpp"

namespace attn {

namespace {

/// f of each element, computed in float64 and rounded once to T.
template <class T, class Source, std::size_t N, class Function>
Tensor<T, N> map(const Tensor<Source, N>& x, Function f) {
  Tensor<T, N> result(x.shape());
  std::transform(x.begin(), x.end(), result.begin(),
                 [&](Source element) { return static_cast<T>(f(static_cast<double>(element))); });
  return result;
}

}  // namespace

template <class T, std::size_t N>
Tensor<T, N> add(const Tensor<T, N>& x, const Tensor<T, N>& y) {
  if (x.shape() != y.shape()) throw shape_mismatch("add", "x", x, "y", y, "the shapes must be equal");
  Tensor<T, N> sum(x.shape());
  std::transform(x.begin(), x.end(), y.begin(), sum.begin(), std::plus<T>());
  return sum;
}

template <class T, std::size_t N>
Tensor<T, N> divide(const Tensor<T, N>& x, double divisor) {
  return map<T>(x, [divisor](double element) { return element / divisor; });
}

template <class T, std::size_t N>
Tensor<T, N> shift(const Tensor<T, N>& x, double amount) {
  return map<T>(x, [amount](double element) { return element + amount; });
}

template <class T, std::size_t N>
Tensor<T, N> tanh(const Tensor<T, N>& x) {
  return map<T>(x, [](double element) { return std::tanh(element); });
}

template <class T, std::size_t N>
Tensor<T, N> cast(const Tensor<double, N>& x) {
  return map<T>(x, [](double element) { return element; });
}

template <class T, std::size_t N>
Tensor<double, N> as_float64(const Tensor<T, N>& x) {
  return map<double>(x, [](double element) { return element; });
}

#define INSTANTIATE(T, N)                                              \
  template Tensor<T, N> add(const Tensor<T, N>&, const Tensor<T, N>&); \
  template Tensor<T, N> divide(const Tensor<T, N>&, double);           \
  template Tensor<T, N> shift(const Tensor<T, N>&, double);            \
  template Tensor<T, N> tanh(const Tensor<T, N>&);                     \
  template Tensor<T, N> cast(const Tensor<double, N>&);                \
  template Tensor<double, N> as_float64(const Tensor<T, N>&);
INSTANTIATE(float, 1)
INSTANTIATE(float, 2)
INSTANTIATE(float, 3)
INSTANTIATE(float, 4)
INSTANTIATE(double, 1)
INSTANTIATE(double, 2)
INSTANTIATE(double, 3)
INSTANTIATE(double, 4)

}  // namespace attn
