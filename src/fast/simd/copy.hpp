#pragma once

#include <algorithm>

#include "fast/simd/square.hpp"

namespace attn::simd {

/// How long rows of that many columns are when they are padded to whole registers.
template <class T, class Arch>
ATTN_INLINE std::size_t padded(std::size_t columns) {
  return (columns + lanes<T, Arch> - 1) / lanes<T, Arch> * lanes<T, Arch>;
}

/// A matrix times a factor, each row padded with zeros to whole registers.
template <class T, class Arch>
ATTN_INLINE void copy_padded(Rows<const T> from, T factor, T* to) {
  const std::size_t length = padded<T, Arch>(from.columns);
  for (std::size_t r = 0; r < from.rows; ++r, to += length) {
    for (std::size_t c = 0; c < from.columns; ++c) to[c] = factor * from.data[r * from.stride + c];
    std::fill(to + from.columns, to + length, T{0});
  }
}

/// The transpose of a matrix times a factor, [column×row], with `width` rows: those that it has not are zero.
/// The width is in whole registers.
template <class T, class Arch>
ATTN_INLINE void copy_transposed(Rows<const T> from, T factor, T* to, std::size_t width) {
  constexpr std::size_t size = lanes<T, Arch>;
  for (std::size_t r = 0; r < width; r += size) {
    const std::size_t done = std::min(r, from.rows);
    for (std::size_t c = 0; c < from.columns; c += size) {
      Square<T, Arch> square;
      square.load({from.data + done * from.stride + c, from.stride, from.rows - done, from.columns - c});
      square.multiply(Vector<T, Arch>(factor));
      square.transpose();
      square.store({to + c * width + r, width, from.columns - c, size});
    }
  }
}

}  // namespace attn::simd
