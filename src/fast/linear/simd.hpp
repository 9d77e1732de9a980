#pragma once

#include "fast/linear/problem.hpp"

namespace attn::linear_time {

/// Kernel 2: chunks of tokens as matrix products in SIMD registers, for the instruction set in use.
template <class T>
void simd_forward(const Forward<T>& problem);

}  // namespace attn::linear_time
