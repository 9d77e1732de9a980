#pragma once

#include <algorithm>

#include "fast/linear/sums.hpp"
#include "fast/simd/architecture.hpp"
#include "fast/simd/exp2.hpp"
#include "fast/simd/square.hpp"

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

/// Writes `map` of columns that fill registers.
template <std::size_t Vectors, class T, class Arch, class Map>
ATTN_INLINE void map_columns(const Map& map, simd::Rows<const T> from, T* to, std::size_t width) {
  using Vector = simd::Vector<T, Arch>;
  for (std::size_t r = 0; r < from.rows; ++r, from.data += from.stride, to += width)
#pragma GCC unroll 8
    for (std::size_t v = 0; v < Vectors; ++v)
      map(Vector::load_unaligned(from.data + v * Vector::size)).store_aligned(to + v * Vector::size);
}

/// Writes `map` of the columns that are left, fewer than fill a register, and zeros up to the end of a row.
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
