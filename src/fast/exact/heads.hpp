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

/// One query head of one sample, with the keys and values that it reads.
template <class T>
struct Head {
  std::size_t sample;
  std::size_t index;     ///< among sample×head
  std::size_t kv_index;  ///< among sample×kv_head
  const T* query;        ///< [query×d_k]
  const T* key;          ///< [key×d_k]
  const T* value;        ///< [key×d_v]
  T* output;             ///< [query×d_v]
  T* log_sum_exp;        ///< [query], or null
};

template <class T>
Head<T> head_of(const Forward<T>& problem, std::size_t sample, std::size_t head) {
  const Sizes& sizes = problem.sizes;
  const std::size_t index = sample * sizes.heads + head;
  const std::size_t kv_index = sample * sizes.kv_heads + head * sizes.kv_heads / sizes.heads;
  return {.sample = sample,
          .index = index,
          .kv_index = kv_index,
          .query = problem.query + index * sizes.n_q * sizes.d_k,
          .key = problem.key + kv_index * sizes.n_k * sizes.d_k,
          .value = problem.value + kv_index * sizes.n_k * sizes.d_v,
          .output = problem.output + index * sizes.n_q * sizes.d_v,
          .log_sum_exp = problem.log_sum_exp == nullptr ? nullptr : problem.log_sum_exp + index * sizes.n_q};
}

/// A head and its gradients. Heads that share keys and values share `d_key` and `d_value`.
template <class T>
struct BackwardHead {
  Head<T> forward;
  const T* d_output;  ///< [query×d_v]
  T* d_query;         ///< [query×d_k]
  T* d_key;           ///< [key×d_k]
  T* d_value;         ///< [key×d_v]
};

template <class T>
BackwardHead<T> head_of(const Backward<T>& problem, std::size_t sample, std::size_t head) {
  const Sizes& sizes = problem.forward.sizes;
  const Head<T> forward = head_of(problem.forward, sample, head);
  return {.forward = forward,
          .d_output = problem.d_output + forward.index * sizes.n_q * sizes.d_v,
          .d_query = problem.d_query + forward.index * sizes.n_q * sizes.d_k,
          .d_key = problem.d_key + forward.kv_index * sizes.n_k * sizes.d_k,
          .d_value = problem.d_value + forward.kv_index * sizes.n_k * sizes.d_v};
}

/// Calls `work(heads)` once for every key and value head, with the query heads that read it. One thread
/// computes all of them, so it needs no lock to sum the gradients of key and value. All gradients are zero
/// before.
template <class T, class Work>
void for_each_group(const Backward<T>& problem, const Work& work) {
  const Sizes& sizes = problem.forward.sizes;
  const std::size_t group = sizes.heads / sizes.kv_heads;
  for_each_task(sizes.samples * sizes.kv_heads, problem.forward.threads, [&](std::size_t task) {
    std::vector<BackwardHead<T>> heads;
    for (std::size_t member = 0; member < group; ++member)
      heads.push_back(head_of(problem, task / sizes.kv_heads, task % sizes.kv_heads * group + member));
    for (const auto& head : heads) std::fill_n(head.d_query, sizes.n_q * sizes.d_k, T{0});
    std::fill_n(heads.front().d_key, sizes.n_k * sizes.d_k, T{0});
    std::fill_n(heads.front().d_value, sizes.n_k * sizes.d_v, T{0});
    work(heads);
  });
}

// Kernel 4 in two parts: code for any processor that cuts a call into blocks of queries, and code compiled
// for one instruction set that computes a block.

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
