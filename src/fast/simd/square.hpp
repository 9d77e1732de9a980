#pragma once

#include <algorithm>

#include "fast/simd/vector.hpp"

namespace attn::simd {

/// The lower (0) or upper (1) half of a and b, lane by lane in turn: a₀ b₀ a₁ b₁ …
template <std::size_t half, class V, std::size_t... lane>
ATTN_INLINE V zip(V a, V b, std::index_sequence<lane...>) {
  return __builtin_shufflevector(a.data, b.data, (half * V::size / 2 + lane / 2 + lane % 2 * V::size)...);
}

/// The rows of a square: as many registers as each has lanes.
template <class T, class Arch>
using Registers = Vector<T, Arch>[lanes<T, Arch>];

/// Transposes a square. Interleaving the rows of the lower half with
/// those of the upper half rotates the bits of (row, lane) by one: after log₂(lanes) steps the row and the
/// lane are exchanged.
template <class T, class Arch>
ATTN_INLINE void transpose(Registers<T, Arch>& rows) {
  constexpr std::size_t size = lanes<T, Arch>;
  constexpr auto sequence = std::make_index_sequence<size>();
#pragma GCC unroll 8
  for (std::size_t step = 1; step < size; step *= 2) {
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

/// A part of a row-major matrix.
template <class T>
struct Rows {
  T* data;
  std::size_t stride;  ///< from row to row
  std::size_t rows;
  std::size_t columns;
};

/// Registers that hold as many rows as each has lanes.
template <class T, class Arch>
struct Square {
  static constexpr std::size_t size = lanes<T, Arch>;

  /// The first corner of a matrix; zeros where it is smaller.
  ATTN_INLINE void load(Rows<const T> from) {
    if (from.rows >= size && from.columns >= size) return load_whole(from.data, from.stride);
    alignas(64) T padded[size * size] = {};
    for (std::size_t r = 0; r < std::min(size, from.rows); ++r)
      std::copy_n(from.data + r * from.stride, std::min(size, from.columns), padded + r * size);
    load_whole(padded, size);
  }

  /// As much of it as the matrix has room for.
  ATTN_INLINE void store(Rows<T> to) const {
    if (to.rows >= size && to.columns >= size) return store_whole(to.data, to.stride);
    alignas(64) T padded[size * size];
    store_whole(padded, size);
    for (std::size_t r = 0; r < std::min(size, to.rows); ++r)
      std::copy_n(padded + r * size, std::min(size, to.columns), to.data + r * to.stride);
  }

  ATTN_INLINE void load_whole(const T* data, std::size_t stride) {
#pragma GCC unroll 16
    for (std::size_t r = 0; r < size; ++r) rows[r] = Vector<T, Arch>::load_unaligned(data + r * stride);
  }

  ATTN_INLINE void store_whole(T* data, std::size_t stride) const {
#pragma GCC unroll 16
    for (std::size_t r = 0; r < size; ++r) rows[r].store_unaligned(data + r * stride);
  }

  ATTN_INLINE void multiply(Vector<T, Arch> factor) {
#pragma GCC unroll 16
    for (std::size_t r = 0; r < size; ++r) rows[r] = rows[r] * factor;
  }

  ATTN_INLINE void transpose() {
    simd::transpose(rows);
  }

  Vector<T, Arch> rows[size];
};

}  // namespace attn::simd
