#pragma once

#include "attn/kernels/linear/segment.hpp"
#include "attn/kernels/simd/exp2.hpp"
#include "attn/kernels/simd/square.hpp"

namespace attn::linear_time {

/// elu(x) + 1 = exp(min(x, 0)) + max(x, 0), without a branch. A NaN stays one.
struct EluPlusOne {
  template <class T, class Arch>
  ATTN_INLINE simd::Vector<T, Arch> operator()(simd::Vector<T, Arch> x) const {
    const simd::Vector<T, Arch> zero(T{0}), log2_e(static_cast<T>(1.4426950408889634L));
    return simd::power_of_2(xsimd::min(zero, x) * log2_e) + xsimd::max(zero, x);
  }
};

struct Identity {
  template <class T, class Arch>
  ATTN_INLINE simd::Vector<T, Arch> operator()(simd::Vector<T, Arch> x) const {
    return x;
  }
};

/// Writes `map` of the rows into aligned rows of `width` numbers, of which the last ones are 0. Meanwhile the
/// numbers of the next chunk are on their way from memory into the second cache.
template <class T, class Arch, class Map>
ATTN_INLINE void map_rows(const Map& map, simd::Rows<const T> from, T* to, std::size_t width) {
  using Vector = simd::Vector<T, Arch>;
  constexpr std::size_t lanes = simd::lanes<T, Arch>;
  for (std::size_t r = 0; r < from.rows; ++r, from.data += from.stride, to += width) {
    std::size_t c = 0;
    for (; c + lanes <= from.columns; c += lanes) {
      __builtin_prefetch(from.data + chunk_size * from.stride + c, 0, 2);
      map(Vector::load_unaligned(from.data + c)).store_aligned(to + c);
    }
    if (c == width) continue;
    alignas(64) T rest[lanes] = {};
    for (std::size_t i = c; i < from.columns; ++i) rest[i - c] = from.data[i];
    map(Vector::load_aligned(rest)).store_aligned(to + c);
    for (std::size_t i = from.columns; i < width; ++i) to[i] = 0;
  }
}

}  // namespace attn::linear_time
