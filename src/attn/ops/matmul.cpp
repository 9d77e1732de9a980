#include "attn/ops/matmul.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>
#include <utility>
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

/// A product of two matrices, [m×k] · [k×n] → [m×n].
struct Size {
  std::size_t m, k, n;
};

/// C = A B by BLAS.
void gemm(const double* a, const double* b, double* c, const Size& size) {
  if (size.m * size.k * size.n >= multiply_adds_worth_threads) start_threads();
  auto product = matrix(c, size.m, size.n);
  xt::blas::gemm(matrix(a, size.m, size.k), matrix(b, size.k, size.n), product);
}

bool is_small(const Size& size) {
  constexpr std::size_t most_multiply_adds = std::size_t{1} << 18;
  return size.m * size.k * size.n <= most_multiply_adds;
}

/// `count` columns of the product at a time, from column `first` on, as long as there are so many. Returns
/// the first column that is left.
template <std::size_t count>
std::size_t multiply_columns(std::size_t first, const double* a, const double* b, double* c,
                             const Size& size) {
  for (; first + count <= size.n; first += count)
    for (std::size_t i = 0; i < size.m; ++i) {
      std::array<double, count> sums{};
      for (std::size_t k = 0; k < size.k; ++k)
        for (std::size_t j = 0; j < count; ++j) sums[j] += a[i * size.k + k] * b[k * size.n + first + j];
      std::copy(sums.begin(), sums.end(), c + i * size.n + first);
    }
  return first;
}

/// Each element is summed over k = 0, 1, …; the sums of neighbouring columns stay in registers, and the
/// compiler vectorises them without a change of that order.
void multiply_in_order(const double* a, const double* b, double* c, const Size& size) {
  auto first = multiply_columns<8>(0, a, b, c, size);
  first = multiply_columns<4>(first, a, b, c, size);
  first = multiply_columns<2>(first, a, b, c, size);
  multiply_columns<1>(first, a, b, c, size);
}

/// Number of matrices in a batch of that shape.
template <std::size_t N>
std::size_t matrix_count(const std::array<std::size_t, N>& shape) {
  return std::accumulate(shape.begin(), shape.end() - 2, std::size_t{1}, std::multiplies<>());
}

}  // namespace

void start_threads_when_worth() {
  has_no_threads = true;
}

void multiply(const double* a, const double* b, double* product, std::size_t m, std::size_t k,
              std::size_t n) {
  const Size size = {m, k, n};
  if (is_small(size))
    multiply_in_order(a, b, product, size);
  else
    gemm(a, b, product, size);
}

template <std::size_t N>
Tensor<N> matmul(const Tensor<N>& a, const Tensor<N>& b) requires Rank<N, 2, 4> {
  const Size size = {a.shape(N - 2), a.shape(N - 1), b.shape(N - 1)};
  if (b.shape(N - 2) != size.k) throw shape_mismatch("matmul", "a", a, "b", b, "the inner axes must match");
  if (!std::equal(a.shape().begin(), a.shape().end() - 2, b.shape().begin()))
    throw shape_mismatch("matmul", "a", a, "b", b, "the batch axes must match");

  auto shape = a.shape();
  shape.back() = size.n;
  Tensor<N> product(shape);
  for (std::size_t i = 0; i < matrix_count(shape); ++i)
    multiply(a.data() + i * size.m * size.k, b.data() + i * size.k * size.n,
             product.data() + i * size.m * size.n, size.m, size.k, size.n);
  return product;
}

template <std::size_t N>
Tensor<N> linear(const Tensor<N>& x, const Tensor<2>& weight) requires Rank<N, 2, 4> {
  const Size size = {x.shape(N - 2), weight.shape(0), weight.shape(1)};
  if (x.shape(N - 1) != size.k)
    throw shape_mismatch("linear", "x", x, "weight", weight,
                         "the last axis of x must match the weight's rows");

  auto shape = x.shape();
  shape.back() = size.n;
  Tensor<N> product(shape);
  const Size whole_batch = {matrix_count(shape) * size.m, size.k, size.n};
  if (is_small(size))
    multiply_in_order(x.data(), weight.data(), product.data(), whole_batch);
  else
    gemm(x.data(), weight.data(), product.data(), whole_batch);
  return product;
}

template <std::size_t N>
Tensor<N> linear(const Tensor<N>& x, const Tensor<2>& weight, const Tensor<1>& bias) requires Rank<N, 2, 4> {
  if (bias.size() != weight.shape(1))
    throw shape_mismatch("linear", "weight", weight, "bias", bias, "the last axes must match");
  auto sum = linear(x, weight);
  return sum += bias;
}

template <std::size_t N>
Tensor<N> transpose(const Tensor<N>& x) requires Rank<N, 2, 4> {
  auto shape = x.shape();
  std::swap(shape[N - 2], shape[N - 1]);
  const std::size_t rows = x.shape(N - 2), columns = x.shape(N - 1);
  Tensor<N> transposed(shape);
  for (std::size_t begin = 0; begin < x.size(); begin += rows * columns)
    for (std::size_t i = 0; i < rows; ++i)
      for (std::size_t j = 0; j < columns; ++j)
        transposed.data()[begin + j * rows + i] = x.data()[begin + i * columns + j];
  return transposed;
}

Tensor<1> matmul(const Tensor<2>& a, const Tensor<1>& x) {
  if (a.shape(1) != x.size()) throw shape_mismatch("matmul", "a", a, "x", x, "the inner axes must match");
  auto product = Tensor<1>::from_shape({a.shape(0)});
  multiply(a.data(), x.data(), product.data(), a.shape(0), a.shape(1), 1);
  return product;
}

Tensor<1> matmul(const Tensor<1>& x, const Tensor<2>& b) {
  if (x.size() != b.shape(0)) throw shape_mismatch("matmul", "x", x, "b", b, "the inner axes must match");
  auto product = Tensor<1>::from_shape({b.shape(1)});
  multiply(x.data(), b.data(), product.data(), 1, b.shape(0), b.shape(1));
  return product;
}

#define INSTANTIATE(N)                                                             \
  template Tensor<N> matmul(const Tensor<N>&, const Tensor<N>&);                   \
  template Tensor<N> linear(const Tensor<N>&, const Tensor<2>&);                   \
  template Tensor<N> linear(const Tensor<N>&, const Tensor<2>&, const Tensor<1>&); \
  template Tensor<N> transpose(const Tensor<N>&);
INSTANTIATE(2)
INSTANTIATE(3)
INSTANTIATE(4)
#undef INSTANTIATE

}  // namespace attn
