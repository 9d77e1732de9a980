#pragma once

#include <type_traits>

#include "attn/kernels/simd/accumulate.hpp"

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

  ATTN_INLINE void store(T* matrix, std::size_t width) const {
#pragma GCC unroll 8
    for (std::size_t r = 0; r < Rows; ++r)
#pragma GCC unroll 8
      for (std::size_t v = 0; v < Vectors; ++v) registers[r][v].store_aligned(matrix + r * width + v * lanes);
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

/// Calls `work(sums, column)` for runs of columns of a matrix, as wide as the sums: `Vectors` registers as
/// long as there are so many columns, and then fewer. The last run may reach beyond the last column.
template <std::size_t Rows, std::size_t Vectors, class T, class Arch, class Work>
ATTN_INLINE void for_each_panel(std::size_t columns, const Work& work, std::size_t column = 0) {
  constexpr std::size_t lanes = simd::lanes<T, Arch>;
  for (; column + (Vectors - 1) * lanes < columns; column += Vectors * lanes)
    work(Sums<Rows, Vectors, T, Arch>(), column);
  if constexpr (Vectors > 1) for_each_panel<Rows, Vectors - 1, T, Arch>(columns, work, column);
}

}  // namespace attn::linear_time
