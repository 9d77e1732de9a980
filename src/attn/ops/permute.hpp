#pragma once

#include <vector>

#include "attn/tensor.hpp"

namespace attn {

/// For each sample of a batch, an order of its rows: row i of the result is row order[b][i] of the argument.
using RowOrder = std::vector<std::vector<std::size_t>>;

/// The order that reverses the first `lengths[b]` of `n` rows and leaves the rest in place; its own inverse.
RowOrder reversal(const std::vector<std::size_t>& lengths, std::size_t n);

/// The rows of x [batch×n×d] in another order.
Tensor<3> permute_rows(const Tensor<3>& x, const RowOrder& order);

}  // namespace attn
