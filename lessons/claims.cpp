#include "lessons/claims.hpp"

#include <algorithm>
#include <cmath>

#include "attn/ops/arithmetic.hpp"
#include "attn/ops/matmul.hpp"
#include "attn/ops/measure.hpp"

namespace lessons {

using attn::Tensor;

namespace {}  // namespace

namespace {

/// Decimal digits behind the point that rounding leaves alone in a number near 1, after a good many
/// operations.
int digits_of(attn::Dtype dtype) {
  switch (dtype) {
    case attn::Dtype::float32:
      return 5;
    case attn::Dtype::float16:
      return 2;
    case attn::Dtype::bfloat16:
      return 1;
    default:
      return 12;
  }
}

}  // namespace

attn::Limit rounding(const attn::Trace& trace, double magnitude) {
  const double exponent = std::ceil(std::log10(std::max(1.0, magnitude)));
  return attn::at_most(std::pow(10.0, exponent - digits_of(trace.dtype())));
}

attn::Limit roughly_at_most(double bound) {
  return attn::at_most(std::pow(10.0, std::ceil(std::log10(bound))));
}

template <std::size_t N>
double magnitude_of_scores(const Tensor<N>& Q, const Tensor<N>& K, double divisor) {
  return std::max(
      1.0, attn::max_abs(attn::matmul(attn::absolute(Q), attn::transpose(attn::absolute(K)))) / divisor);
}

template double magnitude_of_scores(const Tensor<2>&, const Tensor<2>&, double);
template double magnitude_of_scores(const Tensor<3>&, const Tensor<3>&, double);
template double magnitude_of_scores(const Tensor<4>&, const Tensor<4>&, double);

}  // namespace lessons
