#pragma once

#include "fast/exact/problem.hpp"

namespace attn::exact {

/// Kernel 1: plain loops. Fits every size.
template <class T>
void plain_forward(const Forward<T>& problem);
template <class T>
void plain_backward(const Backward<T>& problem);

}  // namespace attn::exact
