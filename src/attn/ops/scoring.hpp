#pragma once

#include "attn/tensor.hpp"

namespace attn {

/// What scores are made of. Both throw std::invalid_argument, with both shapes, where those do not match.

/// Two matrices on top of each other: [a×n], [b×n] → [(a+b)×n].
Tensor<2> stack_rows(const Tensor<2>& top, const Tensor<2>& bottom);

/// v · tanh(qᵢ + kⱼ) for projected queries [batch×query×d_a] and keys [batch×key×d_a], one pair after the
/// other: nothing [query×key×d_a] is held. → [batch×query×key].
Tensor<3> additive_scores(const Tensor<3>& queries, const Tensor<3>& keys, const Tensor<1>& v_a);

}  // namespace attn
