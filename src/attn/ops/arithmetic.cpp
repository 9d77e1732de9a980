#include "attn/ops/arithmetic.hpp"

#include <xtensor/xmath.hpp>

#include "attn/ops/shape_mismatch.hpp"

namespace attn {

template <std::size_t N>
Tensor<N> add(const Tensor<N>& x, const Tensor<N>& y) requires Rank<N, 1, 4> {
  if (x.shape() != y.shape()) throw shape_mismatch("add", "x", x, "y", y, "the shapes must be equal");
  return x + y;
}

Tensor<3> multiply(const Tensor<3>& x, const Tensor<3>& y) {
  if (x.shape() != y.shape()) throw shape_mismatch("multiply", "x", x, "y", y, "the shapes must be equal");
  return x * y;
}

template <std::size_t N>
Tensor<N> divide(Tensor<N> x, double divisor) requires Rank<N, 1, 4> {
  x /= divisor;
  return x;
}

template <std::size_t N>
Tensor<N> shift(Tensor<N> x, double amount) requires Rank<N, 1, 4> {
  x += amount;
  return x;
}

template <std::size_t N>
Tensor<N> absolute(Tensor<N> x) requires Rank<N, 1, 4> {
  return xt::abs(x);
}

template <std::size_t N>
Tensor<N> tanh(Tensor<N> x) requires Rank<N, 1, 4> {
  return xt::tanh(x);
}

template <std::size_t N>
Tensor<N> exp(Tensor<N> x) requires Rank<N, 1, 2> {
  return xt::exp(x);
}

template <std::size_t N>
Tensor<N> log(Tensor<N> x) requires Rank<N, 1, 2> {
  return xt::log(x);
}

Tensor<3> sigmoid(Tensor<3> x) {
  return 1.0 / (1.0 + xt::exp(-x));
}

template <std::size_t N>
WorkedOut worked_add(Known<N> x, Known<N> y) requires Rank<N, 1, 4> {
  return [=](const Index& at) { return Worked::sum({x(at), y(at)}); };
}

template <std::size_t N>
WorkedOut worked_divide(Known<N> x, Worked divisor) requires Rank<N, 1, 4> {
  return [=](const Index& at) { return x(at) / divisor; };
}

#define INSTANTIATE(N)                                        \
  template Tensor<N> add(const Tensor<N>&, const Tensor<N>&); \
  template Tensor<N> divide(Tensor<N>, double);               \
  template Tensor<N> shift(Tensor<N>, double);                \
  template Tensor<N> absolute(Tensor<N>);                     \
  template Tensor<N> tanh(Tensor<N>);                         \
  template WorkedOut worked_add(Known<N>, Known<N>);          \
  template WorkedOut worked_divide(Known<N>, Worked);
INSTANTIATE(1)
INSTANTIATE(2)
INSTANTIATE(3)
INSTANTIATE(4)
#undef INSTANTIATE

template <std::size_t N>
WorkedOut worked_exp(Known<N> x) requires Rank<N, 1, 2> {
  return [=](const Index& at) { return exp(x(at)); };
}

template <std::size_t N>
WorkedOut worked_log(Known<N> x) requires Rank<N, 1, 2> {
  return [=](const Index& at) { return log(x(at)); };
}

#define INSTANTIATE(N)                     \
  template Tensor<N> exp(Tensor<N>);       \
  template Tensor<N> log(Tensor<N>);       \
  template WorkedOut worked_exp(Known<N>); \
  template WorkedOut worked_log(Known<N>);
INSTANTIATE(1)
INSTANTIATE(2)
#undef INSTANTIATE

}  // namespace attn
