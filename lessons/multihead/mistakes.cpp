#include "lessons/multihead/mistakes.hpp"

#include <algorithm>

namespace lessons {

namespace {

/// The same numbers in the same order under another shape.
template <std::size_t N, std::size_t M>
Tensor<M> in_shape(const Tensor<N>& x, const std::array<std::size_t, M>& shape) {
  auto result = Tensor<M>::from_shape(shape);
  std::copy(x.begin(), x.end(), result.begin());
  return result;
}

}  // namespace

Tensor<4> split_by_reshape_alone(const Tensor<3>& x, std::size_t heads) {
  return in_shape<3, 4>(x, {x.shape(0), heads, x.shape(1), x.shape(2) / heads});
}

Tensor<3> merged_by_reshape_alone(const Tensor<4>& heads) {
  return in_shape<4, 3>(heads, {heads.shape(0), heads.shape(2), heads.shape(1) * heads.shape(3)});
}

}  // namespace lessons
