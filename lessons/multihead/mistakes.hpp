#pragma once

#include "lessons/self_attention.hpp"
#include "lessons/workbench/workbench.hpp"
#include "trace/mistake.hpp"

namespace lessons {

/// The classic mistakes in the steps of multi-head attention around the heads' attention. What is passed by
/// reference must live as long as the mistakes.

/// Of a split [batch×token×head·d] → [batch×head×token×d].
attn::Mistakes mistakes_of_split(const Tensor<3>& x, std::size_t heads);

/// The same of queries and of keys, which may be divided here in place of the scores, whose divisor is
/// `divisor`: PyTorch's multi-head attention divides the queries, others both by its root.
attn::Mistakes mistakes_of_query_heads(const Tensor<3>& Q, std::size_t heads, double divisor);
attn::Mistakes mistakes_of_key_heads(const Tensor<3>& K, std::size_t heads, double divisor);

/// Of `concat`: heads [batch×head×query×d_v] → [batch×query×head·d_v].
attn::Mistakes mistakes_of_concat(const Tensor<4>& heads);

/// Of `output`: heads as above, concat, W_O [head·d_v×d_model] and its bias.
attn::Mistakes mistakes_of_head_output(const Tensor<4>& heads, const Tensor<3>& concat, const LinearMap& map);

/// A split by a reshape without the transpose, [batch×token×head·d] → [batch×head×token×d], and a merge.
Tensor<4> split_by_reshape_alone(const Tensor<3>& x, std::size_t heads);
Tensor<3> merged_by_reshape_alone(const Tensor<4>& heads);

}  // namespace lessons
