#pragma once

#include <algorithm>
#include <type_traits>

#include "fast/simd/exp2.hpp"
#include "fast/simd/product.hpp"

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

  /// Adds a part of a matrix.
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

/// Calls `work(vectors, column)` for panels of columns. `vectors`, a constant, is a panel's width in
/// registers: `most`, a power of two, while that many columns are left, then smaller ones. The last panel may
/// reach beyond the last column.
template <std::size_t most, class T, class Arch, class Work>
ATTN_INLINE void for_each_panel(std::size_t columns, const Work& work, std::size_t column = 0) {
  constexpr std::size_t lanes = simd::lanes<T, Arch>;
  for (; column + (most - 1) * lanes < columns; column += most * lanes)
    work(std::integral_constant<std::size_t, most>(), column);
  if constexpr (most > 1) for_each_panel<most / 2, T, Arch>(columns, work, column);
}

/// Two arrays that the next chunk reads. They are prefetched during this chunk's computation, a few cache
/// lines at a time: a core can wait for about a dozen lines, and another request stalls it. A prefetch beyond
/// the end of an array is harmless and cheaper than a check.
template <class T>
struct Prefetch {
  const T* one;
  const T* other;

  /// Prefetches the next `count` numbers of both into the second-level cache.
  template <std::size_t count>
  ATTN_INLINE void next() {
#pragma GCC unroll 8
    for (std::size_t i = 0; i < count; i += 64 / sizeof(T)) {
      __builtin_prefetch(one + i, 0, 2);
      __builtin_prefetch(other + i, 0, 2);
    }
    one += count;
    other += count;
  }
};

/// As simd::accumulate. Prefetches as many numbers of either array as it reads scalars.
template <class Alignment = xsimd::aligned_mode, std::size_t Rows, std::size_t Vectors, class T, class Arch>
ATTN_INLINE void accumulate(Sums<Rows, Vectors, T, Arch>& sums, const T* panel, std::size_t width,
                            simd::Scalars<T> scalars, std::size_t count, Prefetch<T>& prefetch) {
  constexpr std::size_t steps = 8;
  for (; count >= steps; count -= steps, panel += steps * width, scalars.data += steps * scalars.step) {
    prefetch.template next<Rows * steps>();
    simd::accumulate<Alignment>(sums.registers, panel, width, scalars, steps);
  }
  simd::accumulate<Alignment>(sums.registers, panel, width, scalars, count);
}

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

/// Writes `map` of columns that fill registers.
template <std::size_t Vectors, class T, class Arch, class Map>
ATTN_INLINE void map_columns(const Map& map, simd::Rows<const T> from, T* to, std::size_t width) {
  using Vector = simd::Vector<T, Arch>;
  for (std::size_t r = 0; r < from.rows; ++r, from.data += from.stride, to += width)
#pragma GCC unroll 8
    for (std::size_t v = 0; v < Vectors; ++v)
      map(Vector::load_unaligned(from.data + v * Vector::size)).store_aligned(to + v * Vector::size);
}

/// Writes `map` of the remaining columns, fewer than fill a register, and zeros up to the end of a row.
template <class T, class Arch, class Map>
ATTN_INLINE void map_last_columns(const Map& map, simd::Rows<const T> from, T* to, std::size_t width,
                                  std::size_t padded) {
  using Vector = simd::Vector<T, Arch>;
  for (std::size_t r = 0; r < from.rows; ++r, from.data += from.stride, to += width) {
    alignas(64) T numbers[Vector::size] = {};
    std::copy_n(from.data, from.columns, numbers);
    map(Vector::load_aligned(numbers)).store_aligned(numbers);
    std::copy_n(numbers, from.columns, to);
    std::fill(to + from.columns, to + padded, T{0});
  }
}

/// Writes `map` of the rows into aligned rows of `width` numbers, of which the last ones are 0.
template <class T, class Arch, class Map>
ATTN_INLINE void map_rows(const Map& map, simd::Rows<const T> from, T* to, std::size_t width) {
  constexpr std::size_t lanes = simd::lanes<T, Arch>;
  const std::size_t whole = from.columns / lanes * lanes;
  for_each_panel<simd::Block<Arch>::vectors, T, Arch>(
      whole, [&](auto vectors, std::size_t column) ATTN_INLINE_LAMBDA {
        map_columns<vectors(), T, Arch>(map, {from.data + column, from.stride, from.rows, vectors() * lanes},
                                        to + column, width);
      });
  if (whole < width)
    map_last_columns<T, Arch>(map, {from.data + whole, from.stride, from.rows, from.columns - whole},
                              to + whole, width, width - whole);
}

}  // namespace attn::linear_time
