#include "fast/gemm.hpp"

#include <cblas.h>

#include <algorithm>
#include <mutex>

namespace attn::fast {

namespace {

void gemm(CBLAS_TRANSPOSE a_form, CBLAS_TRANSPOSE b_form, int m, int n, int k, float alpha, const float* a,
          int a_stride, const float* b, int b_stride, float beta, float* c) {
  cblas_sgemm(CblasRowMajor, a_form, b_form, m, n, k, alpha, a, a_stride, b, b_stride, beta, c, n);
}

void gemm(CBLAS_TRANSPOSE a_form, CBLAS_TRANSPOSE b_form, int m, int n, int k, double alpha, const double* a,
          int a_stride, const double* b, int b_stride, double beta, double* c) {
  cblas_dgemm(CblasRowMajor, a_form, b_form, m, n, k, alpha, a, a_stride, b, b_stride, beta, c, n);
}

template <class T>
CBLAS_TRANSPOSE form(const Matrix<T>& matrix) {
  return matrix.is_transposed ? CblasTrans : CblasNoTrans;
}

template <class T>
int stride(const Matrix<T>& matrix) {
  if (matrix.stride > 0) return static_cast<int>(matrix.stride);
  return static_cast<int>(matrix.is_transposed ? matrix.rows : matrix.columns);
}

/// c = alpha · a b + beta · c
template <class T>
void gemm(T alpha, const Matrix<T>& a, const Matrix<T>& b, T beta, T* c) {
  if (a.rows == 0 || b.columns == 0) return;
  gemm(form(a), form(b), static_cast<int>(a.rows), static_cast<int>(b.columns), static_cast<int>(a.columns),
       alpha, a.data, stride(a), b.data, stride(b), beta, c);
}

template <class T>
Matrix<T> rows_of(const Matrix<T>& a, std::size_t first, std::size_t count) {
  const std::size_t step = static_cast<std::size_t>(stride(a));
  return {a.data + first * (a.is_transposed ? 1 : step), count, a.columns, a.is_transposed, step};
}

/// OpenBLAS's AVX-512 kernels multiply small float32 matrices as they lie and copy larger ones first, which
/// takes longer than it gains for products of middle size. So many rows at once make a small product.
template <class T>
std::size_t rows_without_copies(const Matrix<T>& a, const Matrix<T>& b) {
  static const bool has_small_kernels = blas_core() == "SkylakeX" || blas_core() == "Cooperlake";
  constexpr std::size_t small = 1'000'000, large = 10'000'000, tile = 16;  // multiplications; rows
  const std::size_t of_row = a.columns * b.columns, all = a.rows * of_row;
  const bool is_middle = small < all && all < large && of_row <= small / tile;
  if (sizeof(T) > sizeof(float) || b.is_transposed || !has_small_kernels || !is_middle)
    return std::max<std::size_t>(a.rows, 1);
  return small / of_row / tile * tile;
}

/// The number of threads is a setting of the process: the first object changes it and the last restores it.
std::mutex single_thread_mutex;
int single_thread_users = 0;
int threads_before = 0;

}  // namespace

template <class T>
void multiply(T factor, const Matrix<T>& a, const Matrix<T>& b, T* c) {
  gemm(factor, a, b, T{0}, c);
}

template <class T>
void transpose(const Matrix<T>& a, T* to) {
  constexpr std::size_t tile = 16;
  const auto step = static_cast<std::size_t>(stride(a));
  for (std::size_t first = 0; first < a.rows; first += tile)
    for (std::size_t j = 0; j < a.columns; ++j)
      for (std::size_t i = first; i < std::min(first + tile, a.rows); ++i)
        to[j * a.rows + i] = a.data[i * step + j];
}

template <class T>
void add_product(const Matrix<T>& a, const Matrix<T>& b, T* c) {
  gemm(T{1}, a, b, T{1}, c);
}

template <class T>
void add_product_in_parts(const Matrix<T>& a, const Matrix<T>& b, T* c) {
  const std::size_t rows = rows_without_copies(a, b);
  for (std::size_t first = 0; first < a.rows; first += rows)
    add_product(rows_of(a, first, std::min(rows, a.rows - first)), b, c + first * b.columns);
}

SingleThreadedBlas::SingleThreadedBlas() {
  const std::lock_guard lock(single_thread_mutex);
  if (single_thread_users++ > 0) return;
  threads_before = openblas_get_num_threads();
  openblas_set_num_threads(1);
}

SingleThreadedBlas::~SingleThreadedBlas() {
  const std::lock_guard lock(single_thread_mutex);
  if (--single_thread_users == 0) openblas_set_num_threads(threads_before);
}

void set_blas_threads(int threads) {
  openblas_set_num_threads(threads);
}

std::string blas_core() {
  return openblas_get_corename();
}

template void multiply(float, const Matrix<float>&, const Matrix<float>&, float*);
template void multiply(double, const Matrix<double>&, const Matrix<double>&, double*);
template void transpose(const Matrix<float>&, float*);
template void transpose(const Matrix<double>&, double*);
template void add_product(const Matrix<float>&, const Matrix<float>&, float*);
template void add_product_in_parts(const Matrix<float>&, const Matrix<float>&, float*);
template void add_product(const Matrix<double>&, const Matrix<double>&, double*);
template void add_product_in_parts(const Matrix<double>&, const Matrix<double>&, double*);

}  // namespace attn::fast
