#pragma once

#include "fast/sparse/problem.hpp"

namespace attn::block_sparse {

/// Kernel 2: tiles in SIMD registers, for the instruction set in use. Fits d_k and d_v up to 256.
template <class T>
void simd_forward(const Forward<T>& problem);

}  // namespace attn::block_sparse
