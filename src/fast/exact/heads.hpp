#pragma once

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "fast/exact/kernels.hpp"
#include "fast/parallel.hpp"

namespace attn::exact {

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

/// For kernels that compute the weights from these keys alone. Throws std::invalid_argument where
/// log_sum_exp is over more of them.
template <class T>
void require_all_keys(const Backward<T>& problem) {
  if (problem.is_part)
    throw std::invalid_argument("[backward] this kernel needs all keys of a query at once");
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

}  // namespace attn::exact
