#pragma once

#include "attn/tensor.hpp"

namespace attn {

/// The rows [row×column] of a matrix, each with a number of its own [row].

/// The largest element of each row.
Tensor<1> row_max(const Tensor<2>& x);

/// The sum of each row, from the first column to the last.
Tensor<1> row_sums(const Tensor<2>& x);

/// x − of_row and x / of_row, each element with the number of its row. Both throw std::invalid_argument, with
/// both shapes, where there is not a number for each row.
Tensor<2> subtract_from_rows(const Tensor<2>& x, const Tensor<1>& of_row);
Tensor<2> divide_rows(const Tensor<2>& x, const Tensor<1>& of_row);

}  // namespace attn
