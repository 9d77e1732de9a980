#pragma once

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

  /// Numbers from row to row in memory.
  std::size_t row_length() const { return is_transposed ? rows : columns; }
};

template <class T>
Matrix<T> transposed(const Matrix<T>& matrix) {
  return {matrix.data, matrix.columns, matrix.rows, !matrix.is_transposed};
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
