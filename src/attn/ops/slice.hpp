#pragma once

#include <vector>

#include "attn/tensor.hpp"

namespace attn {

/// Parts and repetitions of tensors, as copies.

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

/// A reshape and a transpose: [batch×n×head·d] → [batch×n×head×d] → [batch×head×n×d].
/// Throws std::invalid_argument where `heads` does not divide the last axis.
Tensor<4> split_heads(const Tensor<3>& x, std::size_t heads);

/// The inverse: [batch×head×n×d] → [batch×n×head×d] → [batch×n×head·d].
Tensor<3> merge_heads(const Tensor<4>& heads);

/// Grouped-query attention (Ainslie et al. 2023): query head i reads key/value head ⌊i·h_kv/h⌋.
/// [batch×kv_head×n×d] → [batch×head×n×d].
/// Throws std::invalid_argument where the number of key/value heads does not divide `heads`.
Tensor<4> repeat_heads(const Tensor<4>& kv_heads, std::size_t heads);

}  // namespace attn
