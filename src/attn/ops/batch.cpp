#include "attn/ops/batch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace attn {

template <class T>
Tensor<T, 2> sample(const Tensor<T, 3>& x, std::size_t index) {
  if (index >= x.shape(0))
    throw std::invalid_argument(
        fmt::format("[sample] there is no sample {} in a batch of {}", index, x.shape(0)));
  auto matrix = Tensor<T, 2>::from_shape({x.shape(1), x.shape(2)});
  std::copy_n(x.data() + index * matrix.size(), matrix.size(), matrix.data());
  return matrix;
}

template Tensor<float, 2> sample(const Tensor<float, 3>&, std::size_t);
template Tensor<double, 2> sample(const Tensor<double, 3>&, std::size_t);

}  // namespace attn
