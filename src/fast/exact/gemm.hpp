#pragma once

#include <cstddef>

namespace attn::exact {

/// A row-major matrix that is read, as it lies in memory or transposed.
template <class T>
struct Matrix {
  const T* data;
  std::size_t rows;
  std::size_t columns;
  bool is_transposed = false;  ///< rows and columns are those of the transpose then
};

template <class T>
Matrix<T> transposed(const Matrix<T>& matrix) {
  return {matrix.data, matrix.columns, matrix.rows, !matrix.is_transposed};
}

/// c = factor · a b through BLAS.
template <class T>
void multiply(T factor, const Matrix<T>& a, const Matrix<T>& b, T* c);

/// c += a b through BLAS.
template <class T>
void add_product(const Matrix<T>& a, const Matrix<T>& b, T* c);

/// While there is one, each product runs on the thread that asks for it, whatever number of threads BLAS was
/// given: kernels spread heads over threads, and the digits of a product do not depend on their number.
class OneThreadEach {
 public:
  OneThreadEach();
  ~OneThreadEach();
  OneThreadEach(const OneThreadEach&) = delete;
  OneThreadEach& operator=(const OneThreadEach&) = delete;
};

}  // namespace attn::exact
