#include "lessons/workbench/claims.hpp"

#include <algorithm>
#include <cmath>
#include <xtensor/xmath.hpp>

#include "attn/ops/matmul.hpp"
#include "attn/ops/measure.hpp"

namespace lessons {

using attn::Tensor;

namespace {

/// Decimal digits behind the point that rounding leaves alone in a number near 1, after a good many
/// operations.
int digits_of(attn::Dtype dtype) {
  if (dtype == attn::Dtype::float32) return 5;
  if (dtype == attn::Dtype::float16) return 2;
  return dtype == attn::Dtype::bfloat16 ? 1 : 12;
}

/// Some rows of matrix m of a batch, without signs.
template <std::size_t N>
Tensor<2> absolute_rows(const Tensor<N>& x, std::size_t m, std::size_t first, std::size_t count) {
  const std::size_t width = x.shape(N - 1);
  Tensor<2> rows({count, width});
  std::copy_n(x.data() + (m * x.shape(N - 2) + first) * width, rows.size(), rows.begin());
  return xt::abs(rows);
}

}  // namespace

attn::Limit rounding(attn::Dtype dtype, double magnitude) {
  const double exponent = std::ceil(std::log10(std::max(1.0, magnitude)));
  return attn::within_rounding(std::pow(10.0, exponent - digits_of(dtype)));
}

attn::Limit rounding(const attn::Trace& trace, double magnitude) {
  return rounding(trace.dtype(), magnitude);
}

attn::Limit roughly_at_most(double bound) {
  constexpr double smallest = 1e-307;  // the powers of ten below it have fewer digits than others
  return attn::within_rounding(std::pow(10.0, std::ceil(std::log10(std::max(bound, smallest)))));
}

// A few queries at a time: scores may fill a good part of the memory.
template <std::size_t N>
double magnitude_of_scores(const Tensor<N>& Q, const Tensor<N>& K, double divisor) {
  constexpr std::size_t most_queries = 256;
  const std::size_t n_q = Q.shape(N - 2), n_k = K.shape(N - 2), matrices = Q.size() / (n_q * Q.shape(N - 1));
  double largest = 0.0;
  for (std::size_t m = 0; m < matrices; ++m) {
    const auto keys = attn::transpose(absolute_rows(K, m, 0, n_k));
    for (std::size_t first = 0; first < n_q; first += most_queries) {
      const auto queries = absolute_rows(Q, m, first, std::min(most_queries, n_q - first));
      largest = attn::maximum({largest, attn::max_abs(attn::matmul(queries, keys))});
    }
  }
  return std::max(1.0, largest / divisor);
}

template double magnitude_of_scores(const Tensor<2>&, const Tensor<2>&, double);
template double magnitude_of_scores(const Tensor<4>&, const Tensor<4>&, double);

}  // namespace lessons
