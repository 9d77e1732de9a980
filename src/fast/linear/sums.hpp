#pragma once

#include <type_traits>

#include "fast/simd/vector.hpp"

namespace attn::linear_time {

/// A block of a matrix, in registers: a few rows of `Vectors` registers each.
template <std::size_t Rows, std::size_t Vectors, class T, class Arch>
struct Sums {
  using Vector = simd::Vector<T, Arch>;
  static constexpr std::size_t lanes = simd::lanes<T, Arch>;

  ATTN_INLINE void clear() {
#pragma GCC unroll 8
    for (std::size_t r = 0; r < Rows; ++r)
#pragma GCC unroll 8
      for (std::size_t v = 0; v < Vectors; ++v) registers[r][v] = Vector(T{0});
  }

  /// Adds a part of a matrix to them, as `add_to` adds them to it.
  ATTN_INLINE void load_and_add(const T* matrix, std::size_t width) {
#pragma GCC unroll 8
    for (std::size_t r = 0; r < Rows; ++r)
#pragma GCC unroll 8
      for (std::size_t v = 0; v < Vectors; ++v)
        registers[r][v] += Vector::load_aligned(matrix + r * width + v * lanes);
  }

  ATTN_INLINE void store(T* matrix, std::size_t width) const {
#pragma GCC unroll 8
    for (std::size_t r = 0; r < Rows; ++r)
#pragma GCC unroll 8
      for (std::size_t v = 0; v < Vectors; ++v) registers[r][v].store_aligned(matrix + r * width + v * lanes);
  }

  /// Each row times its scale, to any address.
  ATTN_INLINE void store_scaled(const T* scales, T* matrix, std::size_t width) const {
#pragma GCC unroll 8
    for (std::size_t r = 0; r < Rows; ++r) {
      const Vector scale(scales[r]);
#pragma GCC unroll 8
      for (std::size_t v = 0; v < Vectors; ++v)
        (registers[r][v] * scale).store_unaligned(matrix + r * width + v * lanes);
    }
  }

  ATTN_INLINE void add_to(T* matrix, std::size_t width) const {
#pragma GCC unroll 8
    for (std::size_t r = 0; r < Rows; ++r)
#pragma GCC unroll 8
      for (std::size_t v = 0; v < Vectors; ++v) {
        T* to = matrix + r * width + v * lanes;
        (Vector::load_aligned(to) + registers[r][v]).store_aligned(to);
      }
  }

  Vector registers[Rows][Vectors];
};

/// Calls `work(vectors, column)` for runs of columns. `vectors`, a constant, is a run's width in registers:
/// `most` while so many columns are left, then fewer. The last run may reach beyond the last column.
template <std::size_t most, class T, class Arch, class Work>
ATTN_INLINE void for_each_panel(std::size_t columns, const Work& work, std::size_t column = 0) {
  constexpr std::size_t lanes = simd::lanes<T, Arch>;
  for (; column + (most - 1) * lanes < columns; column += most * lanes)
    work(std::integral_constant<std::size_t, most>(), column);
  if constexpr (most > 1) for_each_panel<most - 1, T, Arch>(columns, work, column);
}

}  // namespace attn::linear_time
