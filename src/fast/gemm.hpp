#pragma once

#include <algorithm>
#include <cstddef>
#include <string>

namespace attn::fast {

/// A row-major matrix that is read, as it lies in memory or transposed.
template <class T>
struct Matrix {
  const T* data;
  std::size_t rows;
  std::size_t columns;
  bool is_transposed = false;  ///< rows and columns are those of the transpose then
  std::size_t stride = 0;      ///< numbers from row to row in memory; 0: they touch

  /// Numbers from row to row in memory.
  std::size_t row_length() const {
    if (stride > 0) return stride;
    return is_transposed ? rows : columns;
  }
};

template <class T>
Matrix<T> transposed(const Matrix<T>& matrix) {
  return {matrix.data, matrix.columns, matrix.rows, !matrix.is_transposed, matrix.stride};
}

/// Writes aᵀ, [columns × rows] of a. `a` is read as it lies in memory.
template <class T>
void transpose(const Matrix<T>& a, T* to) {
  constexpr std::size_t tile = 16;
  for (std::size_t first = 0; first < a.rows; first += tile)
    for (std::size_t j = 0; j < a.columns; ++j)
      for (std::size_t i = first; i < std::min(first + tile, a.rows); ++i)
        to[j * a.rows + i] = a.data[i * a.row_length() + j];
}

// OpenBLAS.

/// c = factor · a b through BLAS.
template <class T>
void multiply(T factor, const Matrix<T>& a, const Matrix<T>& b, T* c);

/// c += a b through BLAS.
template <class T>
void add_product(const Matrix<T>& a, const Matrix<T>& b, T* c);

/// While an object of this class exists, each product runs on the thread that calls it, whatever number of
/// threads BLAS was given: kernels distribute heads over threads, and the digits of a product do not depend
/// on their number.
class SingleThreadedBlas {
 public:
  SingleThreadedBlas();
  ~SingleThreadedBlas();
  SingleThreadedBlas(const SingleThreadedBlas&) = delete;
  SingleThreadedBlas& operator=(const SingleThreadedBlas&) = delete;
};

/// BLAS uses this number of threads from here on.
void set_blas_threads(int threads);

/// The processor that OpenBLAS has chosen its kernels for: "SkylakeX".
std::string blas_core();

}  // namespace attn::fast
