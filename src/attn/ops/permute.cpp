#include "attn/ops/permute.hpp"

#include <algorithm>
#include <numeric>

namespace attn {

RowOrder reversal(const std::vector<std::size_t>& lengths, std::size_t n) {
  RowOrder order(lengths.size(), std::vector<std::size_t>(n));
  for (std::size_t b = 0; b < lengths.size(); ++b) {
    std::iota(order[b].begin(), order[b].end(), std::size_t{0});
    std::reverse(order[b].begin(), order[b].begin() + static_cast<std::ptrdiff_t>(lengths[b]));
  }
  return order;
}

Tensor<3> permute_rows(const Tensor<3>& x, const RowOrder& order) {
  Tensor<3> permuted(x.shape());
  for (std::size_t b = 0; b < x.shape(0); ++b)
    for (std::size_t i = 0; i < x.shape(1); ++i)
      for (std::size_t j = 0; j < x.shape(2); ++j) permuted(b, i, j) = x(b, order[b][i], j);
  return permuted;
}

}  // namespace attn
