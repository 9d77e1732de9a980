#include "fast/gemm.hpp"

#include <cblas.h>

#include <mutex>
#include <type_traits>

namespace attn::fast {

namespace {

template <class T>
CBLAS_TRANSPOSE form(const Matrix<T>& matrix) {
  return matrix.is_transposed ? CblasTrans : CblasNoTrans;
}

/// c = alpha · a b + beta · c
template <class T>
void gemm(T alpha, const Matrix<T>& a, const Matrix<T>& b, T beta, T* c) {
  if (a.rows == 0 || b.columns == 0) return;
  const auto product = [] {
    if constexpr (std::is_same_v<T, float>)
      return cblas_sgemm;
    else
      return cblas_dgemm;
  }();
  product(CblasRowMajor, form(a), form(b), static_cast<int>(a.rows), static_cast<int>(b.columns),
          static_cast<int>(a.columns), alpha, a.data, static_cast<int>(a.row_length()), b.data,
          static_cast<int>(b.row_length()), beta, c, static_cast<int>(b.columns));
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
void add_product(const Matrix<T>& a, const Matrix<T>& b, T* c) {
  gemm(T{1}, a, b, T{1}, c);
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
template void add_product(const Matrix<float>&, const Matrix<float>&, float*);
template void add_product(const Matrix<double>&, const Matrix<double>&, double*);

}  // namespace attn::fast
