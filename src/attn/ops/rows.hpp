#pragma once

#include "attn/tensor.hpp"
#include "attn/worked.hpp"

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

/// maxⱼ xᵢⱼ, Σⱼ xᵢⱼ, xᵢⱼ − yᵢ and xᵢⱼ / yᵢ, worked out.
WorkedOut worked_row_max(Known<2> x);
WorkedOut worked_row_sums(Known<2> x);
WorkedOut worked_subtract_from_rows(Known<2> x, Known<1> y);
WorkedOut worked_divide_rows(Known<2> x, Known<1> y);

}  // namespace attn
