#include "lessons/shared/claims.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "fast/fastest_attention.hpp"
#include "attn/ops/arithmetic.hpp"
#include "attn/ops/matmul.hpp"
#include "attn/ops/measure.hpp"
#include "attn/ops/softmax.hpp"

namespace lessons {

namespace {

template <std::size_t N>
Tensor<N> absolute(Tensor<N> x) {
  std::transform(x.begin(), x.end(), x.begin(), [](double element) { return std::abs(element); });
  return x;
}

}  // namespace

attn::Limit rounding(const Workbench& bench, double magnitude) {
  const double exponent = std::ceil(std::log10(std::max(1.0, magnitude)));
  return attn::at_most(std::pow(10.0, exponent - (bench.trace.dtype() == attn::Dtype::float64 ? 12 : 5)));
}

attn::Limit roughly_at_most(double bound) {
  return attn::at_most(std::pow(10.0, std::ceil(std::log10(bound))));
}

template <std::size_t N>
double magnitude_of_scores(const Tensor<N>& Q, const Tensor<N>& K, double divisor) {
  return std::max(1.0, attn::max_abs(attn::matmul(absolute(Q), attn::transpose(absolute(K)))) / divisor);
}

template <std::size_t N>
void claim_attention(Workbench& bench, const attn::Attention<N>& attention, const Tensor<N>& Q,
                     const Tensor<N>& K, const Tensor<N>& V,
                     const std::optional<Mask<3>>& mask) {
  const auto& seen_scores = attention.masked ? *attention.masked : attention.scaled;
  const double magnitude = attn::max_abs(attention.scaled);
  bench.trace.claim({.id = "rows-sum-to-1",
                     .claim = "each row of weights sums to 1",
                     .formula = "max |Σⱼ weights − 1|",
                     .value = attn::row_sum_deviation(attention.weights),
                     .limit = rounding(bench)});

  const auto shifted = attn::softmax(attn::shift(seen_scores, 10.0));
  bench.trace.claim({.id = "shift-invariance",
                     .claim = "adding 10 to every score changes no weight",
                     .formula = "max |softmax(scores + 10) − softmax(scores)|",
                     .value = attn::max_abs_difference(shifted, attention.weights),
                     .limit = attn::at_most(std::min(rounding(bench, magnitude + 10.0).bound, 0.1))});

  const double divisor = std::sqrt(static_cast<double>(Q.shape().back())) * bench.options.temperature;
  const auto fused = attn::fastest_attention(Q, K, V, divisor, mask);
  bench.trace.claim({.id = "equals-fused-kernel",
                     .claim = "the fused kernel, which never holds the whole scores, gives the same output",
                     .formula = fmt::format("max |output − kernel {}(Q, K, V)|", fused.kernel),
                     .value = attn::max_abs_difference(fused.output, attention.output),
                     .limit = rounding(bench, magnitude_of_scores(Q, K, divisor) * attn::max_abs(V))});
}

template double magnitude_of_scores(const Tensor<2>&, const Tensor<2>&, double);
template double magnitude_of_scores(const Tensor<3>&, const Tensor<3>&, double);
template void claim_attention(Workbench&, const attn::Attention<3>&, const Tensor<3>&, const Tensor<3>&, const Tensor<3>&, const std::optional<Mask<3>>&);
template double magnitude_of_scores(const Tensor<4>&, const Tensor<4>&, double);
template void claim_attention(Workbench&, const attn::Attention<4>&, const Tensor<4>&, const Tensor<4>&, const Tensor<4>&, const std::optional<Mask<3>>&);

}  // namespace lessons
