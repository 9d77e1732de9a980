#include "attn/ops/heads.hpp"

#include <fmt/format.h>

#include <stdexcept>
#include <utility>
#include <vector>

#include "attn/ops/shape_mismatch.hpp"

namespace attn {

Tensor<4> split_heads(const Tensor<3>& x, std::size_t heads) {
  const auto [batch, n, width] = x.shape();
  if (heads == 0 || width % heads != 0)
    throw std::invalid_argument(
        fmt::format("[split_heads] x is {} but there are {} heads: the number of heads must "
                    "divide the last axis",
                    to_string(view_of(x).shape), heads));
  const std::size_t d = width / heads;
  Tensor<4> split({batch, heads, n, d});
  for (std::size_t b = 0; b < batch; ++b)
    for (std::size_t h = 0; h < heads; ++h)
      for (std::size_t i = 0; i < n; ++i)
        for (std::size_t c = 0; c < d; ++c) split(b, h, i, c) = x(b, i, h * d + c);
  return split;
}

Tensor<3> merge_heads(const Tensor<4>& heads) {
  const auto [batch, head_count, n, d] = heads.shape();
  Tensor<3> merged({batch, n, head_count * d});
  for (std::size_t b = 0; b < batch; ++b)
    for (std::size_t h = 0; h < head_count; ++h)
      for (std::size_t i = 0; i < n; ++i)
        for (std::size_t c = 0; c < d; ++c) merged(b, i, h * d + c) = heads(b, h, i, c);
  return merged;
}

template <class Element>
Array<Element, 4> stack_heads(const std::vector<Array<Element, 3>>& heads) {
  if (heads.empty()) throw std::invalid_argument("[stack_heads] there are no heads");
  const auto [batch, n, d] = heads[0].shape();
  Array<Element, 4> stacked({batch, heads.size(), n, d});
  for (std::size_t h = 0; h < heads.size(); ++h) {
    if (heads[h].shape() != heads[0].shape())
      throw shape_mismatch("stack_heads", "head 0", heads[0], "another", heads[h],
                           "the shapes must be equal");
    for (std::size_t b = 0; b < batch; ++b)
      for (std::size_t i = 0; i < n; ++i)
        for (std::size_t c = 0; c < d; ++c) stacked(b, h, i, c) = heads[h](b, i, c);
  }
  return stacked;
}

Tensor<4> repeat_heads(const Tensor<4>& kv_heads, std::size_t heads) {
  const auto [batch, kv_head_count, n, d] = kv_heads.shape();
  if (kv_head_count == 0 || heads % kv_head_count != 0)
    throw std::invalid_argument(
        fmt::format("[repeat_heads] kv_heads is {} but there are {} heads: the number of "
                    "key/value heads must divide the number of heads",
                    to_string(view_of(kv_heads).shape), heads));
  Tensor<4> repeated({batch, heads, n, d});
  for (std::size_t b = 0; b < batch; ++b)
    for (std::size_t h = 0; h < heads; ++h)
      for (std::size_t i = 0; i < n; ++i)
        for (std::size_t c = 0; c < d; ++c)
          repeated(b, h, i, c) = kv_heads(b, h * kv_head_count / heads, i, c);
  return repeated;
}

Tensor<4> repeat_heads_backward(const Tensor<4>& d_repeated, std::size_t kv_heads) {
  const auto [batch, heads, n, d] = d_repeated.shape();
  if (kv_heads == 0 || heads % kv_heads != 0)
    throw std::invalid_argument(
        fmt::format("[repeat_heads_backward] d_repeated is {} but there are {} key/value heads: their number "
                    "must divide the number of heads",
                    to_string(view_of(d_repeated).shape), kv_heads));
  Tensor<4> sums = xt::zeros<double>({batch, kv_heads, n, d});
  for (std::size_t b = 0; b < batch; ++b)
    for (std::size_t h = 0; h < heads; ++h)
      for (std::size_t i = 0; i < n; ++i)
        for (std::size_t c = 0; c < d; ++c) sums(b, h * kv_heads / heads, i, c) += d_repeated(b, h, i, c);
  return sums;
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
  const auto [batch, heads, n_q, n_k] = x.shape();
  Tensor<3> mean({batch, n_q, n_k});
  for (std::size_t b = 0; b < batch; ++b)
    for (std::size_t i = 0; i < n_q; ++i)
      for (std::size_t j = 0; j < n_k; ++j) {
        double sum = 0.0;
        for (std::size_t h = 0; h < heads; ++h) sum += static_cast<double>(x(b, h, i, j));
        mean(b, i, j) = static_cast<double>(sum / static_cast<double>(heads));
      }
  return mean;
}

template Tensor<4> stack_heads(const std::vector<Tensor<3>>&);
template Mask<4> stack_heads(const std::vector<Mask<3>>&);

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

WorkedOut worked_mean_over_heads(Known<4> x) {
  return [=](const Index& at) {
    const std::size_t heads = x.tensor.shape(1);
    std::vector<Worked> terms;
    for (std::size_t h = 0; h < heads; ++h) terms.push_back(x({at[0], h, at[1], at[2]}));
    return Worked::sum(std::move(terms)) / Worked(static_cast<double>(heads));
  };
}

}  // namespace attn
