#pragma once

#include "fast/linear/problem.hpp"

namespace attn::linear_time {

/// Kernel 1: one token after the other.
template <class T>
void plain_forward(const Forward<T>& problem);

}  // namespace attn::linear_time
