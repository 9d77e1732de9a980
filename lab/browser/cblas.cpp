/// The products of BLAS that the lab uses, as loops: there is no BLAS in a browser.

#include <cblas.h>

#include <cstddef>

namespace {

template <class T>
struct Factor {
  const T* numbers;
  std::size_t row, column;  ///< steps from one row, and from one column, to the next

  T operator()(std::size_t i, std::size_t j) const { return numbers[i * row + j * column]; }
};

template <class T>
Factor<T> factor(CBLAS_ORDER order, CBLAS_TRANSPOSE form, const T* numbers, blasint stride) {
  const auto step = static_cast<std::size_t>(stride);
  return (order == CblasRowMajor) == (form == CblasNoTrans) ? Factor<T>{numbers, step, 1}
                                                            : Factor<T>{numbers, 1, step};
}

/// c = alpha · a b + beta · c
template <class T>
void gemm(CBLAS_ORDER order, CBLAS_TRANSPOSE a_form, CBLAS_TRANSPOSE b_form, blasint m, blasint n, blasint k,
          T alpha, const T* a_numbers, blasint a_stride, const T* b_numbers, blasint b_stride, T beta, T* c,
          blasint c_stride) {
  const auto a = factor(order, a_form, a_numbers, a_stride), b = factor(order, b_form, b_numbers, b_stride);
  const auto rows = static_cast<std::size_t>(m), columns = static_cast<std::size_t>(n),
             length = static_cast<std::size_t>(k), step = static_cast<std::size_t>(c_stride);
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < columns; ++j) {
      T sum = 0;
      for (std::size_t l = 0; l < length; ++l) sum += a(i, l) * b(l, j);
      T& entry = order == CblasRowMajor ? c[i * step + j] : c[j * step + i];
      entry = beta == T{0} ? alpha * sum : alpha * sum + beta * entry;
    }
}

}  // namespace

extern "C" {

void cblas_sgemm(CBLAS_ORDER order, CBLAS_TRANSPOSE a_form, CBLAS_TRANSPOSE b_form, blasint m, blasint n,
                 blasint k, float alpha, const float* a, blasint a_stride, const float* b, blasint b_stride,
                 float beta, float* c, blasint c_stride) {
  gemm(order, a_form, b_form, m, n, k, alpha, a, a_stride, b, b_stride, beta, c, c_stride);
}

void cblas_dgemm(CBLAS_ORDER order, CBLAS_TRANSPOSE a_form, CBLAS_TRANSPOSE b_form, blasint m, blasint n,
                 blasint k, double alpha, const double* a, blasint a_stride, const double* b,
                 blasint b_stride, double beta, double* c, blasint c_stride) {
  gemm(order, a_form, b_form, m, n, k, alpha, a, a_stride, b, b_stride, beta, c, c_stride);
}

void openblas_set_num_threads(int) {}
int openblas_get_num_threads(void) {
  return 1;
}
int openblas_get_num_procs(void) {
  return 1;
}
char* openblas_get_corename(void) {
  static char name[] = "loops";
  return name;
}
}
