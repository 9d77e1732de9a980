#pragma once

#include "fast/exact/problem.hpp"

namespace attn::exact {

/// Kernel 3: tiles of the scores, with a running maximum and sum. Fits every size.
template <class T>
void tiled_forward(const Forward<T>& problem);
template <class T>
void tiled_backward(const Backward<T>& problem);

}  // namespace attn::exact
