#pragma once

#include "fast/exact/problem.hpp"

namespace attn::exact {

/// Kernel 2: matrix products through BLAS over the whole scores [query×key] of a head, of which there are to
/// be no more than 2^29.
template <class T>
void blas_forward(const Forward<T>& problem);
template <class T>
void blas_backward(const Backward<T>& problem);

}  // namespace attn::exact
