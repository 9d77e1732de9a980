#pragma once

#include <cstddef>

#include "fast/exact/problem.hpp"

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

/// A head on the way back. Heads that share keys and values share `d_key` and `d_value`.
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

}  // namespace attn::exact
