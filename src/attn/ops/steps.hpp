#pragma once

#include <vector>

#include "attn/tensor.hpp"

namespace attn {

/// Sequences [batch×n×d] taken apart into their steps [batch×d] and put together again, as recurrence needs
/// it. All throw std::invalid_argument, with both shapes, where those do not match.

/// Step t of a sequence: [batch×n×d] → [batch×d].
Tensor<2> step_of(const Tensor<3>& x, std::size_t t);

/// Steps begin, …, end − 1 of a sequence: [batch×n×d] → [batch×(end−begin)×d].
Tensor<3> steps_of(const Tensor<3>& x, std::size_t begin, std::size_t end);

/// Steps side by side, the inverse: n times [batch×d] → [batch×n×d].
Tensor<3> stack_steps(const std::vector<Tensor<2>>& steps);

/// [a; b] along the last axis: [batch…×a], [batch…×b] → [batch…×(a+b)]; ranks 2 and 3.
template <std::size_t N>
Tensor<N> join(const Tensor<N>& a, const Tensor<N>& b) requires Rank<N, 2, 3>;

}  // namespace attn
