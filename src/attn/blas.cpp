#include "attn/blas.hpp"

#include <array>
#include <xtensor-blas/xblas.hpp>
#include <xtensor/xadapt.hpp>

extern "C" {
void openblas_set_num_threads(int count);
int openblas_get_num_procs(void);
}

namespace attn {

namespace {

/// Products smaller than that are done before threads have started.
constexpr std::size_t multiply_adds_worth_threads = std::size_t{1} << 24;

bool has_no_threads = false;

void start_threads() {
  if (!has_no_threads) return;
  has_no_threads = false;
  openblas_set_num_threads(openblas_get_num_procs());
}

template <class Element>
auto matrix(Element* data, std::size_t rows, std::size_t columns) {
  return xt::adapt(data, rows * columns, xt::no_ownership(), std::array{rows, columns});
}

}  // namespace

void start_threads_when_worth() {
  has_no_threads = true;
}

void gemm(const double* a, const double* b, double* c, std::size_t m, std::size_t k, std::size_t n) {
  if (m * k * n >= multiply_adds_worth_threads) start_threads();
  auto product = matrix(c, m, n);
  xt::blas::gemm(matrix(a, m, k), matrix(b, k, n), product);
}

}  // namespace attn
