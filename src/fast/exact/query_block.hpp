#pragma once

#include "fast/exact/visible.hpp"
#include "fast/simd/isa.hpp"

namespace attn::exact {

/// Neighbouring queries of one head: what one thread computes at a time. Tiles of keys and values pass by all
/// of them while they are in the cache.
template <class T>
struct QueryBlock {
  std::size_t queries;  ///< at most max_panels · panel_queries
  std::size_t d_k;
  std::size_t d_v;
  T scale;
  const Range* runs;  ///< [run] keys to visit, in this order
  std::size_t run_count;
  const Range* visible;  ///< [query] of them, a query sees those in here; begins and ends never fall
  const T* query;        ///< [query×d_k]
  const T* key;          ///< [key×d_k]
  const T* value;        ///< [key×d_v]
  T* output;             ///< [query×d_v]
  T* log_sum_exp;        ///< [query], or null
};

inline constexpr std::size_t max_panels = 8;

/// The forward kernel as compiled for one instruction set.
template <class T>
struct BlockKernel {
  std::size_t panel_queries;  ///< the queries of a block are dealt out to panels of so many
  std::size_t panel_scratch;  ///< numbers of scratch that a panel needs for each of d_k + d_v
  std::size_t tile_scratch;   ///< and those that a block needs besides
  void (*attend)(const QueryBlock<T>& block, T* scratch);  ///< scratch is aligned to 64 bytes
};

template <simd::Isa, class T>
BlockKernel<T> block_kernel();

}  // namespace attn::exact
