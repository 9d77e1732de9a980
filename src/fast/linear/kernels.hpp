#pragma once

#include <vector>

#include "fast/exact/kernels.hpp"
#include "fast/simd/isa.hpp"

/// Linear attention, φ(q)ᵀ Σⱼ φ(kⱼ) vⱼᵀ / φ(q)ᵀ Σⱼ φ(kⱼ) (Katharopoulos et al. 2020). All keys are summed in
/// a state of fixed size, S = Σⱼ φ(kⱼ) vⱼᵀ [d_k×d_v] and z = Σⱼ φ(kⱼ) [d_k]: time grows with n, not with n².
namespace attn::linear_time {

using exact::Call;
using exact::Kernel;
using fast::Range;
using fast::Sizes;

/// Kernel 1, plain loops, the reference of the other, and kernel 2, chunks of tokens as matrix products. They
/// are forward kernels, for any lengths. Of a call's visibility they take causality and lengths, and φ is
/// elu + 1 where `query` and `key` are no features already.
///
/// A query that may see no key gets the output 0, and so does one whose weights sum to 0 because features
/// underflow; kernel 2 rounds everything below the smallest normal number to 0. A value that is not finite
/// may reach a few queries before it even if causal: 0 · ∞ is no number.
const std::vector<Kernel>& kernels();

/// Multiplications and additions that a call needs, for GFLOP/s: 2 d_k d_v for each key and each query. What
/// the chunks of a causal kernel add to that is overhead.
double operations(const Sizes& sizes);

/// The queries of one head and their outputs.
template <class T>
struct Queries {
  const T* query;  ///< [query×d_k]
  T* output;       ///< [query×d_v]
};

/// The keys and values of one key and value head.
template <class T>
struct Keys {
  const T* key;       ///< [key×d_k]
  const T* value;     ///< [key×d_v]
  std::size_t count;  ///< without padding
};

/// How the numbers of one call lie in buffers. Each row is aligned to 64 bytes and padded with zeros.
template <class T>
struct Layout {
  std::size_t d_k;
  std::size_t d_v;
  bool are_features;  ///< queries and keys

  static constexpr std::size_t padded(std::size_t length) {
    constexpr std::size_t line = 64 / sizeof(T);
    return (length + line - 1) / line * line;
  }
  std::size_t feature_width() const { return padded(d_k); }
  std::size_t value_width() const { return padded(d_v); }

  /// S [feature_width×value_width], and then z [feature_width].
  std::size_t state_size() const { return feature_width() * (value_width() + 1); }
  std::size_t z_offset() const { return feature_width() * value_width(); }
};

/// Adjacent positions of one key/value head and of the query heads that read it. Positions count from the
/// beginning of the segment.
template <class T>
struct CausalSegment {
  Keys<T> keys;                         ///< at positions 0, …, keys.count − 1; padding follows
  Range queries{};                      ///< positions with a query; 0, 0 where there are none
  const Queries<T>* readers = nullptr;  ///< [head] its queries from position queries.begin on
  std::size_t heads = 0;
  const T* before = nullptr;  ///< the state after all earlier segments
};

/// The loops over tokens, as compiled for one instruction set. All buffers are aligned to 64 bytes.
template <class T>
struct SegmentKernel {
  std::size_t (*scratch_size)(const Layout<T>&);  ///< in numbers

  /// Outputs of queries that see the keys in the state, and no others.
  void (*read)(const Layout<T>&, const T* state, const Queries<T>&, std::size_t count, T* scratch);

  /// Outputs of a segment. `state` becomes that of its keys: the sums S and z over them, in the same digits
  /// with queries and without.
  void (*attend)(const Layout<T>&, const CausalSegment<T>&, T* state, T* scratch);
};

template <simd::Isa, class T>
SegmentKernel<T> segment_kernel();

/// Positions to a chunk: whole blocks of rows, however many registers wide (see simd::Block).
inline constexpr std::size_t chunk_size = 48;

/// A sequence is cut into segments of this length; into longer ones where there would be too many.
inline constexpr std::size_t segment_size = 64 * chunk_size;
inline constexpr std::size_t most_segments = 16;

}  // namespace attn::linear_time
