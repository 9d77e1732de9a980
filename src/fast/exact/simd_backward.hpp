#pragma once

#include "fast/exact/gradient_sweep.hpp"
#include "fast/simd/flush_denormals.hpp"

namespace attn::exact {

template <class T, class Arch>
void attend_backward(const GradientBlock<T>& block, T* scratch) {
  const simd::FlushDenormals flush;
  GradientSweep<T, Arch>(block, scratch).run();
}

template <simd::Isa isa, class T>
GradientKernel<T> gradient_kernel() {
  using Sweep = GradientSweep<T, simd::Architecture<isa>>;
  return {&Sweep::block_queries, &Sweep::scratch_size, &attend_backward<T, simd::Architecture<isa>>};
}

}  // namespace attn::exact
