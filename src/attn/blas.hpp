#pragma once

#include <cstddef>

namespace attn {

/// For a program that has held BLAS to one thread while it was loaded: the first large product gives BLAS a
/// thread for each processor. Without this call the library leaves the threads of BLAS as they are.
void start_threads_when_worth();

/// C = A B by BLAS, for row-major matrices A [m×k], B [k×n] and C [m×n] that do not overlap.
void gemm(const double* a, const double* b, double* c, std::size_t m, std::size_t k, std::size_t n);

}  // namespace attn
