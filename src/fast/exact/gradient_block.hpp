#pragma once

#include "fast/exact/visible.hpp"
#include "fast/simd/isa.hpp"

namespace attn::exact {

/// Neighbouring queries of one head on the way back: what one thread computes at a time.
template <class T>
struct GradientBlock {
  std::size_t queries;
  std::size_t d_k;
  std::size_t d_v;
  T scale;
  const Range* visible;  ///< [query] keys that each sees; begins and ends never fall
  const T* query;        ///< [query×d_k]
  const T* key;          ///< [key×d_k]
  const T* value;        ///< [key×d_v]
  const T* output;       ///< [query×d_v]
  const T* log_sum_exp;  ///< [query]
  const T* d_output;     ///< [query×d_v]
  T* d_query;            ///< [query×d_k]
  T* d_key;              ///< [key×d_k], added to
  T* d_value;            ///< [key×d_v], added to
};

/// The backward kernel as compiled for one instruction set.
template <class T>
struct GradientKernel {
  std::size_t (*block_queries)(std::size_t d_k, std::size_t d_v);  ///< at most
  std::size_t (*scratch_size)(std::size_t d_k, std::size_t d_v);   ///< in numbers
  void (*attend)(const GradientBlock<T>& block, T* scratch);       ///< scratch is aligned to 64 bytes
};

template <simd::Isa, class T>
GradientKernel<T> gradient_kernel();

}  // namespace attn::exact
