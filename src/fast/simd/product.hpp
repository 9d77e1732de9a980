#pragma once

#include <algorithm>

#include "fast/simd/accumulate.hpp"
#include "fast/simd/architecture.hpp"
#include "fast/simd/constant.hpp"
#include "fast/simd/copy.hpp"

namespace attn::simd {

/// Adds sums to a row, or as many as it has columns.
template <std::size_t Vectors, class T, class Arch>
ATTN_INLINE void add_row(const Vector<T, Arch> (&sums)[Vectors], T* row, std::size_t columns) {
  constexpr std::size_t size = lanes<T, Arch>;
  if (columns >= Vectors * size) {
#pragma GCC unroll 8
    for (std::size_t v = 0; v < Vectors; ++v)
      (Vector<T, Arch>::load_unaligned(row + v * size) + sums[v]).store_unaligned(row + v * size);
  } else {
    alignas(64) T padded_row[Vectors * size];
    for (std::size_t v = 0; v < Vectors; ++v) sums[v].store_aligned(padded_row + v * size);
    for (std::size_t c = 0; c < columns; ++c) row[c] += padded_row[c];
  }
}

template <std::size_t Count, std::size_t Vectors, class T, class Arch>
[[gnu::noinline]] void add_product_columns(Rows<T> to, Scalars<T> factors, const T* panel, std::size_t width,
                                           std::size_t count) {
  Vector<T, Arch> sums[Count][Vectors];
#pragma GCC unroll 8
  for (std::size_t r = 0; r < Count; ++r)
#pragma GCC unroll 8
    for (std::size_t v = 0; v < Vectors; ++v) sums[r][v] = Vector<T, Arch>(T{0});
  accumulate(sums, panel, width, factors, count);
#pragma GCC unroll 8
  for (std::size_t r = 0; r < Count; ++r) add_row(sums[r], to.data + r * to.stride, to.columns);
}

/// to[r][c] += Σ_i factors(r, i) · panel[i][c] over `count` rows of a panel that is padded to whole
/// registers. At most as many rows at a time as there are registers for.
template <class T, class Arch>
ATTN_INLINE void add_product(Rows<T> to, Scalars<T> factors, const T* panel, std::size_t count) {
  constexpr std::size_t most_rows = Block<Arch>::rows, most_vectors = Block<Arch>::vectors;
  const std::size_t width = padded<T, Arch>(to.columns);
  for (std::size_t c = 0; c < width; c += most_vectors * lanes<T, Arch>) {
    const std::size_t vectors = std::min(most_vectors, (width - c) / lanes<T, Arch>);
    with_constant<most_rows>(to.rows, [&](auto row_count) {
      with_constant<most_vectors>(vectors, [&](auto vector_count) {
        add_product_columns<row_count(), vector_count(), T, Arch>(
            {to.data + c, to.stride, to.rows, to.columns - c}, factors, panel + c, width, count);
      });
    });
  }
}

}  // namespace attn::simd
