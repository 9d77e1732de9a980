#include "attn/ops/arithmetic.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include "attn/ops/shape_mismatch.hpp"

namespace attn {

namespace {

/// f of each element, computed in float64 and rounded once to T.
template <class Source, std::size_t N, class Function>
Tensor<N> map(const Array<Source, N>& x, Function f) {
  Tensor<N> result(x.shape());
  std::transform(x.begin(), x.end(), result.begin(),
                 [&](Source element) { return static_cast<double>(f(static_cast<double>(element))); });
  return result;
}

}  // namespace

template <std::size_t N>
Tensor<N> add(const Tensor<N>& x, const Tensor<N>& y) {
  if (x.shape() != y.shape()) throw shape_mismatch("add", "x", x, "y", y, "the shapes must be equal");
  Tensor<N> sum(x.shape());
  std::transform(x.begin(), x.end(), y.begin(), sum.begin(), std::plus());
  return sum;
}

template <std::size_t N>
Tensor<N> divide(const Tensor<N>& x, double divisor) {
  return map(x, [divisor](double element) { return element / divisor; });
}

template <std::size_t N>
Tensor<N> shift(const Tensor<N>& x, double amount) {
  return map(x, [amount](double element) { return element + amount; });
}

template <std::size_t N>
Tensor<N> tanh(const Tensor<N>& x) {
  return map(x, [](double element) { return std::tanh(element); });
}

template Tensor<1> add(const Tensor<1>&, const Tensor<1>&);
template Tensor<1> divide(const Tensor<1>&, double);
template Tensor<1> shift(const Tensor<1>&, double);
template Tensor<1> tanh(const Tensor<1>&);
template Tensor<2> add(const Tensor<2>&, const Tensor<2>&);
template Tensor<2> divide(const Tensor<2>&, double);
template Tensor<2> shift(const Tensor<2>&, double);
template Tensor<2> tanh(const Tensor<2>&);
template Tensor<3> add(const Tensor<3>&, const Tensor<3>&);
template Tensor<3> divide(const Tensor<3>&, double);
template Tensor<3> shift(const Tensor<3>&, double);
template Tensor<3> tanh(const Tensor<3>&);
template Tensor<4> add(const Tensor<4>&, const Tensor<4>&);
template Tensor<4> divide(const Tensor<4>&, double);
template Tensor<4> shift(const Tensor<4>&, double);
template Tensor<4> tanh(const Tensor<4>&);

}  // namespace attn
