#include "attn/ops/score_statistics.hpp"

#include <cmath>

#include "attn/ops/arithmetic.hpp"
#include "attn/ops/measure.hpp"
#include "attn/ops/slice.hpp"
#include "attn/ops/softmax.hpp"
#include "attn/ops/statistics.hpp"

namespace attn {

Tensor<1> random_scores(Random& random, std::size_t samples, std::size_t d_k) {
  const auto queries = random.normal<2>(0.0, 1.0, {samples, d_k});
  auto scores = Tensor<1>::from_shape({samples});
  for (std::size_t i = 0; i < samples; ++i) {
    double score = 0.0;
    for (std::size_t j = 0; j < d_k; ++j) {
      const auto q = static_cast<double>(queries(i, j)), k = static_cast<double>(random.normal());
      score += static_cast<double>(q) * static_cast<double>(k);
    }
    scores(i) = static_cast<double>(score);
  }
  return scores;
}

ScoreStatistics score_statistics(const Tensor<1>& scores, std::size_t d_k, std::size_t keys) {
  const auto rows = cut_into_rows(scores, keys);
  const auto raw = softmax(rows);
  const auto scaled = softmax(divide(rows, std::sqrt(static_cast<double>(d_k))));
  return {.d_k = static_cast<double>(d_k),
          .mean = mean(scores),
          .variance = variance(scores),
          .std = std::sqrt(variance(scores)),
          .entropy_raw = mean_entropy(raw),
          .entropy_scaled = mean_entropy(scaled),
          .max_weight_raw = mean_max_weight(raw),
          .max_weight_scaled = mean_max_weight(scaled),
          .jacobian_raw = mean_jacobian_norm(raw),
          .jacobian_scaled = mean_jacobian_norm(scaled)};
}

double standard_error_of_mean(double d_k, double samples) {
  return std::sqrt(d_k / samples);
}

double standard_error_of_variance(double d_k, double samples) {
  return std::sqrt((2.0 * d_k * d_k + 6.0 * d_k) / samples);
}


}  // namespace attn
