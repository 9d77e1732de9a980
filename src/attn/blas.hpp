#pragma once

#include <cstddef>

namespace attn {

/// C = A B by BLAS, for row-major matrices A [m×k], B [k×n] and C [m×n] that do not overlap. A large product
/// runs on all processors; until the first one, BLAS has no threads.
void gemm(const double* a, const double* b, double* c, std::size_t m, std::size_t k, std::size_t n);

}  // namespace attn
