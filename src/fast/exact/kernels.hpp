#pragma once

#include <string_view>
#include <vector>

#include "fast/visibility.hpp"

/// Exact attention, softmax(Q Kᵀ · scale) V, by four kernels that compute the same sums.
namespace attn::exact {

using fast::Range;
using fast::Sizes;
using fast::Visibility;

/// A call, forward and backward, of tensors that are contiguous, row-major and finite. A query that may see
/// no key gets the output 0. Scores are to stay below 10⁷ in float32 and 10¹⁵ in float64, where they lose all
/// digits behind the point. The gradients are those of L = Σ output · d_output. Nothing n² is kept: the
/// weights are computed again from the scores and log_sum_exp.
template <class T>
struct Call {
  Sizes sizes;
  Visibility visible{};
  T scale = 1;     ///< usually 1/√d_k
  const T* query;  ///< [sample×head×query×d_k]
  const T* key;    ///< [sample×kv_head×key×d_k]
  const T* value;  ///< [sample×kv_head×key×d_v]
  T* output;       ///< [sample×head×query×d_v], which backward reads, as the next
  /// [sample×head×query] ln Σ exp(scaled scores), −∞ where no key is seen; may be null
  T* log_sum_exp = nullptr;
  int threads = 1;  ///< changes no digit of the result
  /// Of the keys that a query sees, those in the blocks listed for it alone: block-sparse attention, whose
  /// time is proportional to the number of blocks; all where null. For `takes_pattern` kernels, forward;
  /// backward for kernel 1 alone.
  const fast::BlockPattern* pattern = nullptr;
  bool are_features = false;  ///< for linear attention alone: query and key are φ(q) and φ(k) already

  // For backward alone.
  const T* d_output = nullptr;  ///< [sample×head×query×d_v]
  T* d_query = nullptr;         ///< [sample×head×query×d_k]
  T* d_key = nullptr;           ///< [sample×kv_head×key×d_k]
  T* d_value = nullptr;         ///< [sample×kv_head×key×d_v]
  bool is_part = false;         ///< log_sum_exp is over more keys than these; kernel 1 refuses it
};

/// What a kernel computes, in both precisions; nothing where it is empty.
struct Computation {
  void (*in_float32)(const Call<float>&) = nullptr;
  void (*in_float64)(const Call<double>&) = nullptr;

  void operator()(const Call<float>& call) const { in_float32(call); }
  void operator()(const Call<double>& call) const { in_float64(call); }
  explicit operator bool() const { return in_float32 != nullptr; }
};

struct Kernel {
  std::string_view name;  ///< "plain", "blas", "tiled", "simd"
  bool (*fits)(const Sizes& sizes) = [](const Sizes&) { return true; };
  std::string_view limits{};   ///< which sizes fit, where not all do: "d_k and d_v up to 256"
  bool takes_pattern = false;  ///< throws std::invalid_argument for one that does not fit the lengths
  Computation forward{};
  Computation backward{};  ///< after `forward`
};

/// All kernels, from the simplest to the fastest: each adds one technique to the one before. Plain loops, the
/// reference of the others; matrix products through BLAS over the whole scores of a head, at most 2^29 of
/// them; tiles of the scores, with a running maximum and sum, so that no scores leave the cache; tiles in
/// SIMD registers, for the instruction set in use and d_k and d_v up to 256.
const std::vector<Kernel>& kernels();

/// The fastest kernel that fits.
const Kernel& fastest(const Sizes& sizes);

}  // namespace attn::exact
