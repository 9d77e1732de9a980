#pragma once

#include "attn/tensor.hpp"

namespace attn {

/// Parts and repetitions of tensors, as copies. Instantiated for float, double and, at rank 3, bool.

/// Columns begin, …, end − 1 of a matrix [m×n].
template <class T>
Tensor<T, 2> columns(const Tensor<T, 2>& x, std::size_t begin, std::size_t end);

/// Rows begin, …, end − 1 of a matrix [m×n].
template <class T>
Tensor<T, 2> rows(const Tensor<T, 2>& x, std::size_t begin, std::size_t end);

/// One head of [batch×head×n×d]: [batch×n×d].
template <class T>
Tensor<T, 3> head(const Tensor<T, 4>& x, std::size_t index);

/// Each block of `width` columns of a matrix [m×blocks·width] `times` times in a row: [m×blocks·times·width].
template <class T>
Tensor<T, 2> repeat_column_blocks(const Tensor<T, 2>& x, std::size_t width, std::size_t times);

/// The first `count` rows of each sample of [batch×n×d].
template <class T>
Tensor<T, 3> first_rows(const Tensor<T, 3>& x, std::size_t count);

/// The rows of each sample of [batch×n×d] twice over: [batch×2n×d].
template <class T>
Tensor<T, 3> rows_twice(const Tensor<T, 3>& x);

/// The columns of each sample of [batch×n×d] twice over: [batch×n×2d].
template <class T>
Tensor<T, 3> columns_twice(const Tensor<T, 3>& x);

}  // namespace attn
