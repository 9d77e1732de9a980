#pragma once

#include <algorithm>
#include <cstddef>

#include "fast/linear/problem.hpp"

namespace attn::linear_time {

/// What is computed from a query head.
template <class T>
struct Queries {
  const T* query;  ///< [query×d_k]
  T* output;       ///< [query×d_v]
};

template <class T>
Queries<T> queries_of(const Forward<T>& problem, std::size_t sample, std::size_t head) {
  const Sizes& sizes = problem.sizes;
  const std::size_t first = (sample * sizes.heads + head) * sizes.n_q;
  return {problem.query + first * sizes.d_k, problem.output + first * sizes.d_v};
}

/// What is summed up.
template <class T>
struct Keys {
  const T* key;       ///< [key×d_k]
  const T* value;     ///< [key×d_v]
  std::size_t count;  ///< without padding
};

template <class T>
Keys<T> keys_of(const Forward<T>& problem, std::size_t sample, std::size_t kv_head) {
  const Sizes& sizes = problem.sizes;
  const std::size_t first = (sample * sizes.kv_heads + kv_head) * sizes.n_k;
  return {problem.key + first * sizes.d_k, problem.value + first * sizes.d_v,
          problem.key_lengths.empty() ? sizes.n_k : std::min(problem.key_lengths[sample], sizes.n_k)};
}

}  // namespace attn::linear_time
