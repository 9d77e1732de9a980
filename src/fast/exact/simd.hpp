#pragma once

#include "fast/exact/problem.hpp"

namespace attn::exact {

/// Kernel 4: tiles in SIMD registers, for the instruction set in use. Fits d_k and d_v up to 256.
template <class T>
void simd_forward(const Forward<T>& problem);
template <class T>
void simd_backward(const Backward<T>& problem);

}  // namespace attn::exact
