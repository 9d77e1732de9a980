#include "attn/ops/heads.hpp"

#include <fmt/format.h>

#include <stdexcept>
#include <utility>
#include <vector>
#include <xtensor/xmanipulation.hpp>
#include <xtensor/xrepeat.hpp>
#include <xtensor/xview.hpp>

#include "attn/ops/shape_mismatch.hpp"

namespace attn {

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

Tensor<4> stack_heads(const std::vector<Tensor<3>>& heads) {
  if (heads.empty()) throw std::invalid_argument("[stack_heads] there are no heads");
  const auto [batch, n, d] = heads[0].shape();
  Tensor<4> stacked({batch, heads.size(), n, d});
  for (std::size_t h = 0; h < heads.size(); ++h) {
    if (heads[h].shape() != heads[0].shape())
      throw shape_mismatch("stack_heads", "head 0", heads[0], "another", heads[h],
                           "the shapes must be equal");
    xt::view(stacked, xt::all(), h) = heads[h];
  }
  return stacked;
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
