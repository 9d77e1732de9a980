#include "attn/ops/arithmetic.hpp"

#include <xtensor/xmath.hpp>

#include "attn/ops/shape_mismatch.hpp"

namespace attn {

template <std::size_t N>
Tensor<N> add(const Tensor<N>& x, const Tensor<N>& y) {
  if (x.shape() != y.shape()) throw shape_mismatch("add", "x", x, "y", y, "the shapes must be equal");
  return x + y;
}

Tensor<3> multiply(const Tensor<3>& x, const Tensor<3>& y) {
  if (x.shape() != y.shape()) throw shape_mismatch("multiply", "x", x, "y", y, "the shapes must be equal");
  return x * y;
}

template <std::size_t N>
Tensor<N> divide(Tensor<N> x, double divisor) {
  x /= divisor;
  return x;
}

template <std::size_t N>
Tensor<N> shift(Tensor<N> x, double amount) {
  x += amount;
  return x;
}

template <std::size_t N>
Tensor<N> absolute(Tensor<N> x) {
  return xt::abs(x);
}

template <std::size_t N>
Tensor<N> tanh(Tensor<N> x) {
  return xt::tanh(x);
}

template <std::size_t N>
Tensor<N> exp(Tensor<N> x) {
  return xt::exp(x);
}

template <std::size_t N>
Tensor<N> log(Tensor<N> x) {
  return xt::log(x);
}

Tensor<3> sigmoid(Tensor<3> x) {
  return 1.0 / (1.0 + xt::exp(-x));
}

template Tensor<1> exp(Tensor<1>);
template Tensor<2> exp(Tensor<2>);
template Tensor<1> log(Tensor<1>);
template Tensor<2> log(Tensor<2>);
template Tensor<1> add(const Tensor<1>&, const Tensor<1>&);
template Tensor<1> divide(Tensor<1>, double);
template Tensor<1> shift(Tensor<1>, double);
template Tensor<1> absolute(Tensor<1>);
template Tensor<1> tanh(Tensor<1>);
template Tensor<2> add(const Tensor<2>&, const Tensor<2>&);
template Tensor<2> divide(Tensor<2>, double);
template Tensor<2> shift(Tensor<2>, double);
template Tensor<2> absolute(Tensor<2>);
template Tensor<2> tanh(Tensor<2>);
template Tensor<3> add(const Tensor<3>&, const Tensor<3>&);
template Tensor<3> divide(Tensor<3>, double);
template Tensor<3> shift(Tensor<3>, double);
template Tensor<3> absolute(Tensor<3>);
template Tensor<3> tanh(Tensor<3>);
template Tensor<4> add(const Tensor<4>&, const Tensor<4>&);
template Tensor<4> divide(Tensor<4>, double);
template Tensor<4> shift(Tensor<4>, double);
template Tensor<4> absolute(Tensor<4>);
template Tensor<4> tanh(Tensor<4>);

template <std::size_t N>
WorkedOut worked_add(Known<N> x, Known<N> y) {
  return [=](const Index& at) { return Worked::sum({x(at), y(at)}); };
}

template <std::size_t N>
WorkedOut worked_divide(Known<N> x, Worked divisor) {
  return [=](const Index& at) { return x(at) / divisor; };
}

#define INSTANTIATE(N)                               \
  template WorkedOut worked_add(Known<N>, Known<N>); \
  template WorkedOut worked_divide(Known<N>, Worked);
INSTANTIATE(1)
INSTANTIATE(2)
INSTANTIATE(3)
INSTANTIATE(4)
#undef INSTANTIATE

template <std::size_t N>
WorkedOut worked_exp(Known<N> x) {
  return [=](const Index& at) { return exp(x(at)); };
}

template WorkedOut worked_exp(Known<1>);
template WorkedOut worked_exp(Known<2>);

template <std::size_t N>
WorkedOut worked_log(Known<N> x) {
  return [=](const Index& at) { return log(x(at)); };
}

template WorkedOut worked_log(Known<1>);
template WorkedOut worked_log(Known<2>);

}  // namespace attn
