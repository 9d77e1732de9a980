#pragma once

#include <vector>

#include "attn/tensor.hpp"
#include "attn/worked.hpp"

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

/// Back through them. Splitting and merging only move numbers, and so does their backward: split_heads goes
/// back by merge_heads and merge_heads by split_heads. A head of keys or values that several query heads read
/// gets the sum of their gradients: [batch×head×n×d] → [batch×kv_head×n×d]. Throws std::invalid_argument
/// where `kv_heads` does not divide the number of heads.
Tensor<4> repeat_heads_backward(const Tensor<4>& d_repeated, std::size_t kv_heads);

/// That sum over the query heads of a head of what `d_repeated` works out, `readers` of them for each.
WorkedOut worked_repeat_heads_backward(WorkedOut d_repeated, std::size_t readers);

/// The mean over the head axis: [batch×head×query×key] → [batch×query×key].
Tensor<3> mean_over_heads(const Tensor<4>& x);

/// Which entry of its argument each entry of the result of split_heads and merge_heads is. What
/// is split may be worked out itself; its heads are `width` wide.
WorkedOut worked_split_heads(Known<3> x, std::size_t heads);
WorkedOut worked_split_heads(WorkedOut x, std::size_t width);
WorkedOut worked_merge_heads(Known<4> heads);

}  // namespace attn
