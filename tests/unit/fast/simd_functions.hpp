#pragma once

#include <cstddef>

#include "fast/simd/isa.hpp"

/// What the kernels do with registers, on arrays, as compiled for one instruction set.
template <class T>
struct SimdFunctions {
  std::size_t lanes;
  void (*power_of_2)(const T* x, T* powers);                          ///< [lanes], with denormals flushed
  void (*multiply_add)(const T* x, const T* y, const T* z, T* sums);  ///< [lanes]
  /// The corner of a matrix [rows×columns], rows `stride` apart, to [columns×rows].
  void (*transpose)(const T* matrix, std::size_t stride, std::size_t rows, std::size_t columns,
                    T* transposed);
};

template <attn::simd::Isa isa, class T>
SimdFunctions<T> simd_functions();
