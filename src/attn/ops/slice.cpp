#include "attn/ops/slice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <xtensor/xmanipulation.hpp>
#include <xtensor/xrepeat.hpp>
#include <xtensor/xview.hpp>

namespace attn {

Tensor<2> columns(const Tensor<2>& x, std::size_t begin, std::size_t end) {
  return xt::view(x, xt::all(), xt::range(begin, end));
}

Tensor<2> rows(const Tensor<2>& x, std::size_t begin, std::size_t end) {
  return xt::view(x, xt::range(begin, end));
}

Tensor<2> rows(const Tensor<2>& x, const std::vector<std::size_t>& indices) {
  Tensor<2> kept({indices.size(), x.shape(1)});  // row by row: xt::keep steps through each number
  for (std::size_t i = 0; i < indices.size(); ++i)
    std::copy_n(x.data() + indices[i] * x.shape(1), x.shape(1), kept.data() + i * x.shape(1));
  return kept;
}

Tensor<1> row(const Tensor<2>& x, std::size_t index) {
  return xt::view(x, index);
}

Tensor<2> sample(const Tensor<3>& x, std::size_t index) {
  if (index >= x.shape(0))
    throw std::invalid_argument(
        fmt::format("[sample] there is no sample {} in a batch of {}", index, x.shape(0)));
  return xt::view(x, index);
}

Tensor<3> as_batch(const Tensor<2>& x) {
  return xt::view(x, xt::newaxis());
}

Tensor<3> head(const Tensor<4>& x, std::size_t index) {
  return xt::view(x, xt::all(), index);
}

Tensor<2> repeat_column_blocks(const Tensor<2>& x, std::size_t width, std::size_t times) {
  const auto [rows, columns] = x.shape();
  const Tensor<3> blocks = xt::reshape_view(x, {rows, columns / width, width});
  const Tensor<3> repeated = xt::repeat(blocks, times, 1);
  return xt::reshape_view(repeated, {rows, columns * times});
}

}  // namespace attn
