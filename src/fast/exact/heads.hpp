#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "fast/exact/kernels.hpp"
#include "fast/parallel.hpp"
#include "fast/simd/isa.hpp"

namespace attn::exact {

/// Turns scores into weights that sum to 1 and returns their log-sum-exp: −∞ where there are none.
template <class T>
T softmax(T* scores, std::size_t count) {
  if (count == 0) return -std::numeric_limits<T>::infinity();
  const T maximum = *std::max_element(scores, scores + count);
  std::transform(scores, scores + count, scores, [maximum](T score) { return std::exp(score - maximum); });
  const T sum = std::accumulate(scores, scores + count, T{0});
  std::transform(scores, scores + count, scores, [sum](T weight) { return weight / sum; });
  return maximum + std::log(sum);
}

/// Each in its file.
Kernel blas_kernel();
Kernel tiled_kernel();
Kernel simd_kernel();

/// The numbers from `first` on; null where there are none.
template <class T>
T* from_number(T* numbers, std::size_t first) {
  return numbers == nullptr ? nullptr : numbers + first;
}

/// One query head of one sample, with the keys and values that it reads, and the gradients in a backward
/// pass. Heads that share keys and values share `d_key` and `d_value`.
template <class T>
struct Head {
  std::size_t sample;
  const T* query;     ///< [query×d_k]
  const T* key;       ///< [key×d_k]
  const T* value;     ///< [key×d_v]
  T* output;          ///< [query×d_v]
  T* log_sum_exp;     ///< [query], or null
  const T* d_output;  ///< [query×d_v]
  T* d_query;         ///< [query×d_k]
  T* d_key;           ///< [key×d_k], added to
  T* d_value;         ///< [key×d_v], added to

  /// The same from a query on.
  Head from(std::size_t query_index, const Sizes& sizes) const {
    Head head = *this;
    head.query = from_number(query, query_index * sizes.d_k);
    head.output = from_number(output, query_index * sizes.d_v);
    head.log_sum_exp = from_number(log_sum_exp, query_index);
    head.d_output = from_number(d_output, query_index * sizes.d_v);
    head.d_query = from_number(d_query, query_index * sizes.d_k);
    return head;
  }
};

/// Heads are counted through all samples.
template <class T>
Head<T> head_of(const Call<T>& call, std::size_t index) {
  const Sizes& sizes = call.sizes;
  const std::size_t keys = index / (sizes.heads / sizes.kv_heads) * sizes.n_k;
  const Head<T> first = {.sample = index / sizes.heads,
                         .query = call.query,
                         .key = from_number(call.key, keys * sizes.d_k),
                         .value = from_number(call.value, keys * sizes.d_v),
                         .output = call.output,
                         .log_sum_exp = call.log_sum_exp,
                         .d_output = call.d_output,
                         .d_query = call.d_query,
                         .d_key = from_number(call.d_key, keys * sizes.d_k),
                         .d_value = from_number(call.d_value, keys * sizes.d_v)};
  return first.from(index * sizes.n_q, sizes);
}

/// Calls `work(head, part)` for so many parts of every query head, one head after the other.
template <class T, class Work>
void for_each_head(const Call<T>& call, std::size_t parts, const Work& work) {
  for_each_task(call.sizes.samples * call.sizes.heads * parts, call.threads,
                [&](std::size_t task) { work(head_of(call, task / parts), task % parts); });
}

/// Calls `work(heads)` once for every key and value head, with the query heads that read it. One thread
/// computes all of them, so it needs no lock to sum the gradients of key and value. All gradients are zero
/// before.
template <class T, class Work>
void for_each_group(const Call<T>& call, const Work& work) {
  const Sizes& sizes = call.sizes;
  const std::size_t group = sizes.heads / sizes.kv_heads;
  for_each_task(sizes.samples * sizes.kv_heads, call.threads, [&](std::size_t task) {
    std::vector<Head<T>> heads;
    for (std::size_t member = 0; member < group; ++member)
      heads.push_back(head_of(call, task * group + member));
    for (const auto& head : heads) std::fill_n(head.d_query, sizes.n_q * sizes.d_k, T{0});
    std::fill_n(heads.front().d_key, sizes.n_k * sizes.d_k, T{0});
    std::fill_n(heads.front().d_value, sizes.n_k * sizes.d_v, T{0});
    work(heads);
  });
}

// Kernel 4 in two parts: code for any processor that cuts a call into blocks of queries, and code compiled
// for one instruction set that computes a block.

/// Adjacent queries of one head, from its first one on, which one thread computes. Forward, each tile of keys
/// and values serves all of them while it is in the cache.
template <class T>
struct QueryBlock : Head<T> {
  std::size_t queries;  ///< forward at most max_panels · panel_queries
  std::size_t d_k;
  std::size_t d_v;
  T scale;
  const Range* visible;         ///< [query] keys that each sees; begins and ends never decrease
  const Range* runs = nullptr;  ///< forward: [run] keys to visit, in this order, all that are visible
  std::size_t run_count = 0;
  bool is_part = false;  ///< backward: log_sum_exp is over more keys than these
};

inline constexpr std::size_t max_panels = 8;

/// The forward kernel as compiled for one instruction set.
template <class T>
struct ForwardKernel {
  std::size_t panel_queries;  ///< of each panel of a block, which needs as much scratch for each of d_k + d_v
  std::size_t tile_scratch;   ///< numbers of scratch that a block needs besides
  void (*attend)(const QueryBlock<T>& block, T* scratch);  ///< scratch is aligned to 64 bytes
};

template <simd::Isa, class T>
ForwardKernel<T> forward_kernel();

/// The backward kernel as compiled for one instruction set.
template <class T>
struct BackwardKernel {
  std::size_t (*block_queries)(std::size_t d_k, std::size_t d_v);  ///< at most
  std::size_t (*scratch_size)(std::size_t d_k, std::size_t d_v);   ///< in numbers
  void (*attend)(const QueryBlock<T>& block, T* scratch);          ///< scratch is aligned to 64 bytes
};

template <simd::Isa, class T>
BackwardKernel<T> backward_kernel();

}  // namespace attn::exact
