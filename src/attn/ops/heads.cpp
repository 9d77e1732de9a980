#include "attn/ops/heads.hpp"

#include <fmt/format.h>

#include <stdexcept>
#include <utility>
#include <vector>
#include <xtensor/xmanipulation.hpp>
#include <xtensor/xmath.hpp>
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

Tensor<4> repeat_heads_backward(const Tensor<4>& d_repeated, std::size_t kv_heads) {
  const auto [batch, heads, n, d] = d_repeated.shape();
  if (kv_heads == 0 || heads % kv_heads != 0)
    throw std::invalid_argument(
        fmt::format("[repeat_heads_backward] d_repeated is {} but there are {} key/value heads: their number "
                    "must divide the number of heads",
                    to_string(view_of(d_repeated).shape), kv_heads));
  return xt::sum(xt::reshape_view(d_repeated, {batch, kv_heads, heads / kv_heads, n, d}), {2});
}

WorkedOut worked_repeat_heads_backward(WorkedOut d_repeated, std::size_t readers) {
  return [=](const Index& at) {
    std::vector<Worked> terms;
    for (std::size_t r = 0; r < readers; ++r)
      terms.push_back(d_repeated({at[0], at[1] * readers + r, at[2], at[3]}));
    return Worked::sum(std::move(terms));
  };
}

Tensor<3> mean_over_heads(const Tensor<4>& x) {
  return xt::mean(x, {1});
}

WorkedOut worked_split_heads(WorkedOut x, std::size_t width) {
  return [=](const Index& at) { return x({at[0], at[2], at[1] * width + at[3]}); };
}

WorkedOut worked_split_heads(Known<3> x, std::size_t heads) {
  const std::size_t width = x.tensor.shape(2) / heads;
  return worked_copy(x, [=](const Index& at) { return Index{at[0], at[2], at[1] * width + at[3]}; });
}

WorkedOut worked_merge_heads(Known<4> heads) {
  const std::size_t width = heads.tensor.shape(3);
  return worked_copy(heads, [=](const Index& at) {
    return Index{at[0], at[2] / width, at[1], at[2] % width};
  });
}

}  // namespace attn
