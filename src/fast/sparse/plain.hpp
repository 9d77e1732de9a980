#pragma once

#include "fast/sparse/problem.hpp"

namespace attn::block_sparse {

/// Kernel 1: one query after the other.
template <class T>
void plain_forward(const Forward<T>& problem);

}  // namespace attn::block_sparse
