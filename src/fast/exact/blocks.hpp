#pragma once

#include <vector>

#include "fast/exact/heads.hpp"
#include "fast/simd/isa.hpp"
#include "fast/simd/scratch.hpp"

/// Kernel 4 in two parts: code for any processor that cuts a call into blocks of queries, and code compiled
/// for one instruction set that computes a block.
namespace attn::exact {

/// Adjacent queries of one head, which one thread computes. Each tile of keys and values serves all of
/// them while it is in the cache.
template <class T>
struct ForwardBlock {
  std::size_t queries;  ///< at most max_panels · panel_queries
  std::size_t d_k;
  std::size_t d_v;
  T scale;
  const Range* runs;  ///< [run] keys to visit, in this order
  std::size_t run_count;
  const Range* visible;  ///< [query] the keys of `runs` that it sees; begins and ends never decrease
  const T* query;        ///< [query×d_k]
  const T* key;          ///< [key×d_k]
  const T* value;        ///< [key×d_v]
  T* output;             ///< [query×d_v]
  T* log_sum_exp;        ///< [query], or null
};

inline constexpr std::size_t max_panels = 8;

/// The forward kernel as compiled for one instruction set.
template <class T>
struct ForwardKernel {
  std::size_t panel_queries;  ///< queries of a panel; a block consists of panels
  std::size_t panel_scratch;  ///< numbers of scratch that a panel needs for each of d_k + d_v
  std::size_t tile_scratch;   ///< numbers of scratch that a block needs besides
  void (*attend)(const ForwardBlock<T>& block, T* scratch);  ///< scratch is aligned to 64 bytes
};

template <simd::Isa, class T>
ForwardKernel<T> forward_kernel();

/// Adjacent queries of one head, of which one thread computes the gradients.
template <class T>
struct BackwardBlock {
  std::size_t queries;
  std::size_t d_k;
  std::size_t d_v;
  T scale;
  const Range* visible;  ///< [query] keys that each sees; begins and ends never decrease
  const T* query;        ///< [query×d_k]
  const T* key;          ///< [key×d_k]
  const T* value;        ///< [key×d_v]
  const T* output;       ///< [query×d_v]
  const T* log_sum_exp;  ///< [query]
  const T* d_output;     ///< [query×d_v]
  T* d_query;            ///< [query×d_k]
  T* d_key;              ///< [key×d_k], added to
  T* d_value;            ///< [key×d_v], added to
  bool is_part;          ///< log_sum_exp is over more keys than these
};

/// The backward kernel as compiled for one instruction set.
template <class T>
struct BackwardKernel {
  std::size_t (*block_queries)(std::size_t d_k, std::size_t d_v);  ///< at most
  std::size_t (*scratch_size)(std::size_t d_k, std::size_t d_v);   ///< in numbers
  void (*attend)(const BackwardBlock<T>& block, T* scratch);       ///< scratch is aligned to 64 bytes
};

template <simd::Isa, class T>
BackwardKernel<T> backward_kernel();

/// Adjacent queries of a head attend to those keys in `runs` that they see. `scratch_size` is what the
/// kernel needs for these queries, in numbers.
template <class T>
void attend_block(const ForwardKernel<T>& kernel, const Forward<T>& problem, const Head<T>& head,
                  const Range& queries, const std::vector<Range>& runs, std::size_t scratch_size) {
  const Sizes& sizes = problem.sizes;
  std::vector<Range> visible;
  visible.reserve(queries.size());
  for (std::size_t query = queries.begin; query < queries.end; ++query)
    visible.push_back(visible_keys(sizes, problem.visible, head.sample, query));
  simd::Scratch<T> scratch(scratch_size);
  kernel.attend({.queries = queries.size(),
                 .d_k = sizes.d_k,
                 .d_v = sizes.d_v,
                 .scale = problem.scale,
                 .runs = runs.data(),
                 .run_count = runs.size(),
                 .visible = visible.data(),
                 .query = head.query + queries.begin * sizes.d_k,
                 .key = head.key,
                 .value = head.value,
                 .output = head.output + queries.begin * sizes.d_v,
                 .log_sum_exp = head.log_sum_exp == nullptr ? nullptr : head.log_sum_exp + queries.begin},
                scratch.data());
}

}  // namespace attn::exact
