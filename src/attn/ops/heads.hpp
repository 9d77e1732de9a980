#pragma once

#include <vector>

#include "attn/tensor.hpp"

namespace attn {

/// A reshape and a transpose: [batch×n×head·d] → [batch×n×head×d] → [batch×head×n×d].
/// Throws std::invalid_argument where `heads` does not divide the last axis.
Tensor<4> split_heads(const Tensor<3>& x, std::size_t heads);

/// The inverse: [batch×head×n×d] → [batch×n×head×d] → [batch×n×head·d].
Tensor<3> merge_heads(const Tensor<4>& heads);

/// Heads [batch×n×d] on an axis of their own: [batch×head×n×d]. `head` (slice.hpp) takes them out again.
/// Throws std::invalid_argument where there is no head and where their shapes differ.
Tensor<4> stack_heads(const std::vector<Tensor<3>>& heads);

/// Grouped-query attention (Ainslie et al. 2023): query head i reads key/value head ⌊i·h_kv/h⌋.
/// [batch×kv_head×n×d] → [batch×head×n×d].
/// Throws std::invalid_argument where the number of key/value heads does not divide `heads`.
Tensor<4> repeat_heads(const Tensor<4>& kv_heads, std::size_t heads);

}  // namespace attn
