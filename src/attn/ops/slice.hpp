#pragma once

#include <vector>

#include "attn/tensor.hpp"

namespace attn {

/// Parts and repetitions of tensors, as copies.

template <class Element>
concept NumberOrTruth = std::is_same_v<Element, double> || std::is_same_v<Element, bool>;

/// Columns begin, …, end − 1 of a matrix [m×n].
Tensor<2> columns(const Tensor<2>& x, std::size_t begin, std::size_t end);

/// Rows begin, …, end − 1 of a matrix [m×n].
Tensor<2> rows(const Tensor<2>& x, std::size_t begin, std::size_t end);

/// The rows of a matrix [m×n] with these numbers, in that order: [indices×n].
Tensor<2> rows(const Tensor<2>& x, const std::vector<std::size_t>& indices);

/// One row of a matrix [m×n]: [n].
Tensor<1> row(const Tensor<2>& x, std::size_t index);

/// One sample of a batch [batch×n×d]: [n×d]. Throws std::invalid_argument where there is no such sample.
Tensor<2> sample(const Tensor<3>& x, std::size_t index);

/// A matrix as a batch of one sample: [n×d] → [1×n×d]. `sample` takes it out again.
Tensor<3> as_batch(const Tensor<2>& x);

/// One head of [batch×head×n×d]: [batch×n×d].
Tensor<3> head(const Tensor<4>& x, std::size_t index);

/// A vector cut into rows [rows×length]. What is left over at its end and fills no row is left out.
Tensor<2> cut_into_rows(const Tensor<1>& x, std::size_t length);

/// Each block of `width` columns of a matrix [m×blocks·width] `times` times in a row: [m×blocks·times·width].
Tensor<2> repeat_column_blocks(const Tensor<2>& x, std::size_t width, std::size_t times);

/// The first `count` rows of each sample of [batch×n×d].
template <NumberOrTruth Element>
Array<Element, 3> first_rows(const Array<Element, 3>& x, std::size_t count);

/// The rows of each sample of [batch×n×d] with `count` rows of zeros behind them: [batch×(n+count)×d].
Tensor<3> with_zero_rows(const Tensor<3>& x, std::size_t count);

}  // namespace attn
