#pragma once

#include <algorithm>

#include "fast/simd/vector.hpp"

namespace attn::simd {

/// The lower (0) or upper (1) half of a and b, lane by lane in turn: a₀ b₀ a₁ b₁ …
template <std::size_t half, class V, std::size_t... lane>
ATTN_INLINE V zip(V a, V b, std::index_sequence<lane...>) {
  return __builtin_shufflevector(a.data, b.data, (half * V::size / 2 + lane / 2 + lane % 2 * V::size)...);
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

  /// Interleaving the rows of the lower half with those of the upper half rotates the bits of (row, lane) by
  /// one: after log₂(lanes) steps the row and the lane are exchanged.
  ATTN_INLINE void transpose() {
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

  Vector<T, Arch> rows[size];
};

/// Scalars that are read straight from a row-major matrix: row r, step i at data[r · row + i · step].
template <class T>
struct Scalars {
  const T* data;
  std::size_t row;
  std::size_t step;
};

// Blocks of sums in registers: a few rows of a few registers each.

/// Sets each row to the numbers at an aligned address.
template <std::size_t Rows, std::size_t Vectors, class T, class Arch>
ATTN_INLINE void set_rows(Vector<T, Arch> (&sums)[Rows][Vectors], const T* row) {
#pragma GCC unroll 8
  for (std::size_t v = 0; v < Vectors; ++v) {
    const auto vector = Vector<T, Arch>::load_aligned(row + v * lanes<T, Arch>);
#pragma GCC unroll 8
    for (std::size_t r = 0; r < Rows; ++r) sums[r][v] = vector;
  }
}

template <std::size_t Rows, std::size_t Vectors, class T, class Arch>
ATTN_INLINE void clear(Vector<T, Arch> (&sums)[Rows][Vectors]) {
#pragma GCC unroll 8
  for (std::size_t r = 0; r < Rows; ++r)
#pragma GCC unroll 8
    for (std::size_t v = 0; v < Vectors; ++v) sums[r][v] = Vector<T, Arch>(T{0});
}

/// Writes the block into a part of a matrix whose rows are aligned, `width` numbers apart.
template <std::size_t Rows, std::size_t Vectors, class T, class Arch>
ATTN_INLINE void store(const Vector<T, Arch> (&sums)[Rows][Vectors], T* matrix, std::size_t width) {
#pragma GCC unroll 8
  for (std::size_t r = 0; r < Rows; ++r)
#pragma GCC unroll 8
    for (std::size_t v = 0; v < Vectors; ++v)
      sums[r][v].store_aligned(matrix + r * width + v * lanes<T, Arch>);
}

/// Adds the block to such a part.
template <std::size_t Rows, std::size_t Vectors, class T, class Arch>
ATTN_INLINE void add_to(const Vector<T, Arch> (&sums)[Rows][Vectors], T* matrix, std::size_t width) {
#pragma GCC unroll 8
  for (std::size_t r = 0; r < Rows; ++r)
#pragma GCC unroll 8
    for (std::size_t v = 0; v < Vectors; ++v) {
      T* to = matrix + r * width + v * lanes<T, Arch>;
      (Vector<T, Arch>::load_aligned(to) + sums[r][v]).store_aligned(to);
    }
}

/// sums[r][v] += Σ_i panel[i][v] · scalars(r, i) for the steps i = 0, …, count − 1: the loop in which the
/// kernels spend their time. The panel holds `width` numbers a step, of which the first `Vectors` registers
/// are read; each scalar is broadcast. Nothing is packed. Rows of the panel begin anywhere if `Alignment`
/// says so. The loop is not unrolled: GCC would copy sums from register to register.
template <class Alignment = xsimd::aligned_mode, std::size_t Rows, std::size_t Vectors, class T, class Arch>
ATTN_INLINE void accumulate(Vector<T, Arch> (&sums)[Rows][Vectors], const T* panel, std::size_t width,
                            Scalars<T> scalars, std::size_t count) {
#pragma GCC unroll 1
  for (std::size_t i = 0; i < count; ++i, panel += width, scalars.data += scalars.step) {
    Vector<T, Arch> vectors[Vectors];
#pragma GCC unroll 8
    for (std::size_t v = 0; v < Vectors; ++v)
      vectors[v] = Vector<T, Arch>::load(panel + v * lanes<T, Arch>, Alignment());
#pragma GCC unroll 8
    for (std::size_t r = 0; r < Rows; ++r) {
      const Vector<T, Arch> scalar(scalars.data[r * scalars.row]);
#pragma GCC unroll 8
      for (std::size_t v = 0; v < Vectors; ++v) sums[r][v] = multiply_add(vectors[v], scalar, sums[r][v]);
    }
  }
}

/// How long rows of that many columns are when they are padded to whole registers.
template <class T, class Arch>
ATTN_INLINE std::size_t padded(std::size_t columns) {
  return (columns + lanes<T, Arch> - 1) / lanes<T, Arch> * lanes<T, Arch>;
}

/// Calls `work(column, vectors)` for panels of columns. `vectors`, a constant, is a panel's width in
/// registers: that of a block while so many are left, then smaller ones. The last panel may reach beyond the
/// last column.
template <class T, class Arch, class Work>
ATTN_INLINE void for_each_panel(std::size_t columns, const Work& work) {
  in_blocks<Block<Arch>::vectors>(0, padded<T, Arch>(columns) / lanes<T, Arch>,
                                  [&](std::size_t vector, auto vectors)
                                      ATTN_INLINE_LAMBDA { work(vector * lanes<T, Arch>, vectors); });
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

/// The transpose of a matrix times a factor, [column×row], with `width` rows: missing rows are zero.
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

template <std::size_t Count, std::size_t Vectors, class T, class Arch, class Alignment = xsimd::aligned_mode>
[[gnu::noinline]] void add_product_columns(Rows<T> to, Scalars<T> factors, const T* panel, std::size_t width,
                                           std::size_t count) {
  Vector<T, Arch> sums[Count][Vectors];
  clear(sums);
  accumulate<Alignment>(sums, panel, width, factors, count);
#pragma GCC unroll 8
  for (std::size_t r = 0; r < Count; ++r) add_row(sums[r], to.data + r * to.stride, to.columns);
}

/// to[r][c] += Σ_i factors(r, i) · panel[i][c] over `count` rows of a panel that is padded to whole
/// registers, in blocks of as many rows as there are registers for.
template <class T, class Arch>
ATTN_INLINE void add_product(Rows<T> to, Scalars<T> factors, const T* panel, std::size_t count) {
  const std::size_t width = padded<T, Arch>(to.columns);
  for_each_panel<T, Arch>(to.columns, [&](std::size_t column, auto vectors) ATTN_INLINE_LAMBDA {
    in_blocks<Block<Arch>::rows>(0, to.rows, [&](std::size_t row, auto rows) {
      add_product_columns<rows(), vectors(), T, Arch>(
          {to.data + row * to.stride + column, to.stride, rows(), to.columns - column},
          {factors.data + row * factors.row, factors.row, factors.step}, panel + column, width, count);
    });
  });
}

}  // namespace attn::simd
