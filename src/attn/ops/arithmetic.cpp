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
Tensor<N> absolute(Tensor<N> x) requires Rank<N, 1, 4> {
  return xt::abs(x);
}

template <std::size_t N>
Tensor<N> tanh(Tensor<N> x) requires Rank<N, 1, 4> {
  return xt::tanh(x);
}

Tensor<3> sigmoid(Tensor<3> x) {
  return 1.0 / (1.0 + xt::exp(-x));
}

#define INSTANTIATE(N)                                        \
  template Tensor<N> add(const Tensor<N>&, const Tensor<N>&); \
  template Tensor<N> divide(Tensor<N>, double);               \
  template Tensor<N> absolute(Tensor<N>);                     \
  template Tensor<N> tanh(Tensor<N>);
INSTANTIATE(1)
INSTANTIATE(2)
INSTANTIATE(3)
INSTANTIATE(4)
#undef INSTANTIATE

}  // namespace attn
