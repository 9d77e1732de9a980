#include "attn/layers/attention_gradient_check.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

#include "attn/ops/arithmetic.hpp"
#include "attn/ops/central_difference.hpp"
#include "attn/ops/mask.hpp"
#include "attn/ops/matmul.hpp"
#include "attn/ops/measure.hpp"
#include "attn/ops/softmax.hpp"

namespace attn {

namespace {

using Matrices = Tensor<3>;
using Function = std::function<Matrices(const Matrices&)>;

/// How far a step moves a scaled score at most. A central difference is off by the square of that, and
/// rounding by epsilon divided by it.
constexpr double score_step = 1e-5;

/// Multiply-adds that are done in a moment.
constexpr double affordable = 1 << 27;

AttentionInputs in_float64(const AttentionInputs& in) {
  return {in.Q, in.K, in.V, in.mask};
}

double multiply_adds(const AttentionInputs& in) {
  return static_cast<double>(in.Q.size() * in.K.shape(1)) + static_cast<double>(in.V.size() * in.Q.shape(1));
}

Matrices random_signs(Random& random, const std::array<std::size_t, 3>& shape) {
  Matrices signs(shape);
  for (double& sign : signs) sign = random.normal() < 0.0 ? -1.0 : 1.0;
  return signs;
}

double sum_of_magnitudes(const Matrices& x) {
  return std::accumulate(x.begin(), x.end(), 0.0,
                         [](double sum, double entry) { return sum + std::abs(entry); });
}

/// The sum over the rows along the last axis of the largest magnitude in each.
double sum_of_largest(const Matrices& x) {
  const auto is_smaller = [](double a, double b) { return std::abs(a) < std::abs(b); };
  const auto length = static_cast<std::ptrdiff_t>(x.shape(2));
  double sum = 0.0;
  for (auto row = x.begin(); row != x.end(); row += length)
    sum += std::abs(*std::max_element(row, row + length, is_smaller));
  return sum;
}

}  // namespace

AttentionGradientCheck check_attention_gradients(const AttentionInputs& inputs, double temperature,
                                                 const Tensor<3>& d_output,
                                                 const AttentionGradients<3>& gradients, Random& random) {
  const auto in = in_float64(inputs);
  const auto d_out = d_output;
  const double divisor = std::sqrt(static_cast<double>(in.Q.shape(2))) * temperature;
  const auto forward = scaled_dot_product_attention(in.Q, in.K, in.V, in.mask, temperature);
  const auto d_weights = matmul(d_out, transpose(in.V));
  const auto entries = static_cast<double>(in.Q.size() + in.K.size() + in.V.size() + 3 * d_weights.size());

  AttentionGradientCheck result;
  result.entry_by_entry = 2.0 * entries * multiply_adds(in) <= affordable;

  const double largest_score = max_abs(forward.scaled) + max_abs(in.Q) * max_abs(in.K) / divisor;
  const double rounding = std::numeric_limits<double>::epsilon() / score_step +
                          static_cast<double>(std::numeric_limits<double>::epsilon());
  const double tolerance = score_step * score_step + 4.0 * rounding * (1.0 + largest_score);

  /// `slope` is how far L moves at most where x moves by 1.
  const auto check = [&](const char* name, const GradientCheck<3>& one, const Matrices& direction,
                         double slope) {
    const double deviation =
        result.entry_by_entry ? deviation_entry_by_entry(one) : deviation_along(one, direction);
    result.deviations.push_back({name, deviation, slope * tolerance});
  };
  const auto check_linear = [&](const char* name, const Matrices& x, const Tensor<3>& gradient,
                                const Function& output_of, double slope) {
    check(name, {output_of, x, d_out, gradient, 1.0}, random_signs(random, x.shape()), slope);
  };
  /// `scaled_of` is linear; `reach` is how far a scaled score moves at most where one entry of x moves by 1.
  const auto check_through_softmax = [&](const char* name, const Matrices& x, const Tensor<3>& gradient,
                                         const Function& scaled_of, double reach) {
    const auto direction = random_signs(random, x.shape());
    if (!result.entry_by_entry) reach = max_abs(scaled_of(direction));
    const auto output_of = [&](const Matrices& moved) {
      const auto scaled = scaled_of(moved);
      return matmul(softmax(in.mask ? apply_mask(scaled, *in.mask) : scaled), in.V);
    };
    check(name, {output_of, x, d_out, gradient, score_step / reach}, direction,
          sum_of_largest(d_weights) * reach);
  };

  check_linear(
      "V", in.V, gradients.d_V, [&](const Matrices& V) { return matmul(forward.weights, V); },
      sum_of_magnitudes(d_out));
  check_linear(
      "weights", forward.weights, gradients.d_weights,
      [&](const Matrices& weights) { return matmul(weights, in.V); }, sum_of_magnitudes(d_weights));
  check_through_softmax(
      "scaled", forward.scaled, gradients.d_scaled, [](const Matrices& scaled) { return scaled; }, 1.0);
  check_through_softmax(
      "scores", forward.scores, gradients.d_scores,
      [&](const Matrices& scores) { return divide(scores, divisor); }, 1.0 / divisor);
  check_through_softmax(
      "Q", in.Q, gradients.d_Q,
      [&](const Matrices& Q) { return divide(matmul(Q, transpose(in.K)), divisor); },
      max_abs(in.K) / divisor);
  check_through_softmax(
      "K", in.K, gradients.d_K,
      [&](const Matrices& K) { return divide(matmul(in.Q, transpose(K)), divisor); },
      max_abs(in.Q) / divisor);
  return result;
}


}  // namespace attn
