#pragma once

#include <cstddef>
#include <vector>

#include "fast/exact/problem.hpp"

/// Linear attention, φ(q)ᵀ Σⱼ φ(kⱼ) vⱼᵀ / φ(q)ᵀ Σⱼ φ(kⱼ) with φ = elu + 1 (Katharopoulos et al. 2020), as a
/// row of numbered kernels: each does the same sums faster. All keys are summed up in S = Σⱼ φ(kⱼ) vⱼᵀ
/// [d_k×d_v] and z = Σⱼ φ(kⱼ) [d_k], whatever their number: time grows with n, not with n².
namespace attn::linear_time {

using exact::Sizes;

/// The inputs of a call, each contiguous and row-major. A query that may see no key gets the output 0. A
/// value that is no finite number may reach a few queries before it even if causal: 0 · ∞ is no number.
template <class T>
struct Forward {
  Sizes sizes;
  bool causal = false;                     ///< query i, at position i + n_k − n_q, sees no later key
  std::vector<std::size_t> key_lengths{};  ///< [sample] keys before the padding, n_k at most; n_k where empty
  const T* query = nullptr;                ///< [sample×head×query×d_k]
  const T* key = nullptr;                  ///< [sample×kv_head×key×d_k]
  const T* value = nullptr;                ///< [sample×kv_head×key×d_v]
  T* output = nullptr;                     ///< [sample×head×query×d_v]
  int threads = 1;                         ///< changes no digit of the result
};

}  // namespace attn::linear_time
