#pragma once

#include "fast/simd/vector.hpp"

namespace attn::simd {

/// The lower (0) or upper (1) half of a and b, lane by lane in turn: a₀ b₀ a₁ b₁ …
template <std::size_t half, class V, std::size_t... lane>
ATTN_INLINE V zip(V a, V b, std::index_sequence<lane...>) {
  return __builtin_shufflevector(a.data, b.data, (half * V::size / 2 + lane / 2 + lane % 2 * V::size)...);
}

/// Transposes a square of as many registers as each has lanes. To deal out the rows of the lower half between
/// those of the upper one rotates the bits of (row, lane) by one: after log₂(lanes) rounds they have changed
/// places.
template <class T, class Arch>
ATTN_INLINE void transpose(Vector<T, Arch> (&rows)[lanes<T, Arch>]) {
  constexpr std::size_t size = lanes<T, Arch>;
  constexpr auto sequence = std::make_index_sequence<size>();
#pragma GCC unroll 8
  for (std::size_t round = 1; round < size; round *= 2) {
    Vector<T, Arch> zipped[size];
#pragma GCC unroll 16
    for (std::size_t i = 0; i < size / 2; ++i) {
      zipped[2 * i] = zip<0>(rows[i], rows[i + size / 2], sequence);
      zipped[2 * i + 1] = zip<1>(rows[i], rows[i + size / 2], sequence);
    }
#pragma GCC unroll 16
    for (std::size_t i = 0; i < size; ++i) rows[i] = zipped[i];
  }
}

}  // namespace attn::simd
