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

template <class T, std::size_t N>
Tensor<T, N> absolute(Tensor<T, N> x) {
  std::transform(x.begin(), x.end(), x.begin(), [](T element) { return std::abs(element); });
  return x;
}

}  // namespace

template <class T>
attn::Limit rounding(double magnitude) {
  const double exponent = std::ceil(std::log10(std::max(1.0, magnitude)));
  return attn::at_most(std::pow(10.0, exponent - (std::is_same_v<T, double> ? 12 : 5)));
}

attn::Limit roughly_at_most(double bound) {
  return attn::at_most(std::pow(10.0, std::ceil(std::log10(bound))));
}

template <class T, std::size_t N>
double magnitude_of_scores(const Tensor<T, N>& Q, const Tensor<T, N>& K, double divisor) {
  return std::max(1.0, attn::max_abs(attn::matmul(absolute(Q), attn::transpose(absolute(K)))) / divisor);
}

template <class T, std::size_t N>
void claim_attention(Workbench<T>& bench, const attn::Attention<T, N>& attention, const Tensor<T, N>& Q,
                     const Tensor<T, N>& K, const Tensor<T, N>& V,
                     const std::optional<Tensor<bool, 3>>& mask) {
  const auto& seen_scores = attention.masked ? *attention.masked : attention.scaled;
  const double magnitude = attn::max_abs(attention.scaled);
  bench.trace.claim({.id = "rows-sum-to-1",
                     .claim = "each row of weights sums to 1",
                     .formula = "max |Σⱼ weights − 1|",
                     .value = attn::row_sum_deviation(attention.weights),
                     .limit = rounding<T>()});

  const auto shifted = attn::softmax(attn::shift(seen_scores, 10.0));
  bench.trace.claim({.id = "shift-invariance",
                     .claim = "adding 10 to every score changes no weight",
                     .formula = "max |softmax(scores + 10) − softmax(scores)|",
                     .value = attn::max_abs_difference(shifted, attention.weights),
                     .limit = attn::at_most(std::min(rounding<T>(magnitude + 10.0).bound, 0.1))});

  const double divisor = std::sqrt(static_cast<double>(Q.shape().back())) * bench.options.temperature;
  const auto fused = attn::fastest_attention(Q, K, V, divisor, mask);
  bench.trace.claim({.id = "equals-fused-kernel",
                     .claim = "the fused kernel, which never holds the whole scores, gives the same output",
                     .formula = fmt::format("max |output − kernel {}(Q, K, V)|", fused.kernel),
                     .value = attn::max_abs_difference(fused.output, attention.output),
                     .limit = rounding<T>(magnitude_of_scores(Q, K, divisor) * attn::max_abs(V))});
}

template attn::Limit rounding<float>(double);
template attn::Limit rounding<double>(double);

#define INSTANTIATE_RANK(T, N) \
  template double magnitude_of_scores(const Tensor<T, N>&, const Tensor<T, N>&, double);
#define INSTANTIATE(T, N)                                                                         \
  INSTANTIATE_RANK(T, N)                                                                          \
  template void claim_attention(Workbench<T>&, const attn::Attention<T, N>&, const Tensor<T, N>&, \
                                const Tensor<T, N>&, const Tensor<T, N>&,                         \
                                const std::optional<Tensor<bool, 3>>&);
INSTANTIATE_RANK(float, 2)
INSTANTIATE_RANK(double, 2)
INSTANTIATE(float, 3)
INSTANTIATE(float, 4)
INSTANTIATE(double, 3)
INSTANTIATE(double, 4)

}  // namespace lessons
