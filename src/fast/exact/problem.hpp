#pragma once

#include <cstddef>
#include <optional>
#include <vector>

/// Exact attention, softmax(Q Kᵀ · scale) V, as a row of numbered kernels that do the same sums.
namespace attn::exact {

/// Lengths of the axes of one call; n and d may be 0. Query head i reads the keys and values of head
/// ⌊i · kv_heads / heads⌋.
struct Sizes {
  std::size_t samples = 1;
  std::size_t heads = 1;
  std::size_t kv_heads = 1;  ///< divides heads
  std::size_t n_q = 1;
  std::size_t n_k = 1;
  std::size_t d_k = 1;
  std::size_t d_v = 1;
};

/// Which keys a query may see. Query i stands at position i + n_k − n_q.
struct Visibility {
  bool causal = false;                     ///< no later key
  std::optional<std::size_t> window{};     ///< no key more than so many positions away
  std::vector<std::size_t> key_lengths{};  ///< [sample] keys before the padding, n_k at most; n_k where empty
};

/// The inputs of a call, each contiguous, row-major and finite. A query that may see no key gets the output
/// 0. Scores are to stay below 10⁷ in float32 and 10¹⁵ in float64, where they lose all digits behind the
/// point.
template <class T>
struct Forward {
  Sizes sizes;
  Visibility visible;
  T scale;         ///< usually 1/√d_k
  const T* query;  ///< [sample×head×query×d_k]
  const T* key;    ///< [sample×kv_head×key×d_k]
  const T* value;  ///< [sample×kv_head×key×d_v]
  T* output;       ///< [sample×head×query×d_v]
  T* log_sum_exp;  ///< [sample×head×query] ln Σ exp(scaled scores), −∞ where no key is seen; may be null
  int threads = 1;  ///< changes no digit of the result
};

/// The gradients of L = Σ output · d_output. Nothing n² is kept: the weights are computed again from the
/// scores and log_sum_exp.
template <class T>
struct Backward {
  Forward<T> forward;  ///< as it was computed: output and log_sum_exp are read
  const T* d_output;   ///< [sample×head×query×d_v]
  T* d_query;          ///< [sample×head×query×d_k]
  T* d_key;            ///< [sample×kv_head×key×d_k]
  T* d_value;          ///< [sample×kv_head×key×d_v]
};

}  // namespace attn::exact
