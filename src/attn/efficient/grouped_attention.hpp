#pragma once

#include "attn/efficient/key_lists.hpp"
#include "attn/efficient/meter.hpp"
#include "attn/tensor.hpp"

namespace attn {

/// The heads of one attention, several queries to a key and value head.
struct GroupedAttention {
  Tensor<4> weights;  ///< [batch×head×query×key], 0 where nothing was computed
  Tensor<4> output;   ///< [batch×head×query×d_v]
};

/// Grouped-query attention (Ainslie et al. 2023; with one key and value head: multi-query attention, Shazeer
/// 2019). Query head i reads key and value head ⌊i·h_kv/h⌋ where it lies; nothing is repeated. Its plain twin
/// is `scaled_dot_product_attention` of heads repeated by `repeat_heads`.
///
/// Q [batch×head×query×d_k], K [batch×kv_head×key×d_k], V [batch×kv_head×key×d_v], keys a list for each
/// query. Throws std::invalid_argument, with both shapes, where they do not match.
GroupedAttention grouped_attention(const Tensor<4>& Q, const Tensor<4>& K, const Tensor<4>& V,
                                      const KeyLists& keys, Meter& meter);

/// The mean of each group of heads, as a model with all its heads is turned into one with fewer (Ainslie et
/// al. 2023, section 2.1): [batch×head×n×d] → [batch×kv_head×n×d]. Throws std::invalid_argument where
/// `kv_heads` does not divide the heads.
Tensor<4> group_means(const Tensor<4>& heads, std::size_t kv_heads);

}  // namespace attn
