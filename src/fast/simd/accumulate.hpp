#pragma once

#include "fast/simd/vector.hpp"

namespace attn::simd {

/// Scalars that are read straight from a row-major matrix: row r, step i at data[r · row + i · step].
template <class T>
struct Scalars {
  const T* data;
  std::size_t row;
  std::size_t step;
};

/// sums[r][v] += Σ_i panel[i][v] · scalars(r, i) for the steps i = 0, …, count − 1: the one loop in which the
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

}  // namespace attn::simd
