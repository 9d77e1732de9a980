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

Tensor<4> split_heads(const Tensor<3>& x, std::size_t heads) {
  const auto [batch, n, width] = x.shape();
  if (heads == 0 || width % heads != 0)
    throw std::invalid_argument(
        fmt::format("[split_heads] x is {} but there are {} heads: the number of heads must "
                    "divide the last axis",
                    to_string(view_of(x).shape), heads));
  return xt::transpose(xt::reshape_view(x, {batch, n, heads, width / heads}), {0, 2, 1, 3});
}

Tensor<3> merge_heads(const Tensor<4>& heads) {
  const auto [batch, head_count, n, d] = heads.shape();
  const Tensor<4> side_by_side = xt::transpose(heads, {0, 2, 1, 3});
  return xt::reshape_view(side_by_side, {batch, n, head_count * d});
}

Tensor<4> repeat_heads(const Tensor<4>& kv_heads, std::size_t heads) {
  const auto kv_head_count = kv_heads.shape(1);
  if (kv_head_count == 0 || heads % kv_head_count != 0)
    throw std::invalid_argument(
        fmt::format("[repeat_heads] kv_heads is {} but there are {} heads: the number of "
                    "key/value heads must divide the number of heads",
                    to_string(view_of(kv_heads).shape), heads));
  return xt::repeat(kv_heads, heads / kv_head_count, 1);
}

}  // namespace attn
