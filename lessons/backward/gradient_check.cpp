#include "lessons/backward/gradient_check.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "attn/ops/arithmetic.hpp"
#include "attn/ops/central_difference.hpp"
#include "attn/ops/mask.hpp"
#include "attn/ops/matmul.hpp"
#include "attn/ops/measure.hpp"
#include "attn/ops/softmax.hpp"

namespace lessons {

namespace {

using Matrices = Tensor<3>;
using Function = std::function<Matrices(const Matrices&)>;

/// How far a step moves a scaled score at most. A central difference is off by the square of that, and
/// rounding by epsilon divided by it.
constexpr double score_step = 1e-5;

/// No step is longer: an entry that it moves stays finite.
constexpr double longest_step = 1e300;

/// Multiply-adds that are done in a moment.
constexpr double affordable = 1 << 27;

double multiply_adds(const AttentionInputs& in) {
  return static_cast<double>(in.Q.size() * in.K.shape(1)) + static_cast<double>(in.V.size() * in.Q.shape(1));
}

Matrices random_signs(attn::Random& random, const std::array<std::size_t, 3>& shape) {
  auto signs = random.normal<3>(0.0, 1.0, shape);
  for (double& sign : signs) sign = sign < 0.0 ? -1.0 : 1.0;
  return signs;
}

double sum_of(const Matrices& x) {
  return std::accumulate(x.begin(), x.end(), 0.0);
}

/// The sum over the rows along the last axis of the largest element of each.
double sum_of_largest(const Matrices& x) {
  const auto length = static_cast<std::ptrdiff_t>(x.shape(2));
  double sum = 0.0;
  for (auto row = x.begin(); row != x.end(); row += length) sum += *std::max_element(row, row + length);
  return sum;
}

/// weights ∘ (terms + Σⱼ weights ∘ terms): back through softmax without the signs.
Matrices through_softmax(const Matrices& weights, const Matrices& terms) {
  Matrices result(weights.shape());
  const std::size_t length = weights.shape(2);
  for (std::size_t begin = 0; begin < weights.size(); begin += length) {
    const double* const w = weights.data() + begin;
    const double* const t = terms.data() + begin;
    const double mean = std::inner_product(w, w + length, t, 0.0);
    for (std::size_t j = 0; j < length; ++j) result.data()[begin + j] = w[j] * (t[j] + mean);
  }
  return result;
}

}  // namespace

double unit_roundoff(attn::Dtype dtype) {
  switch (dtype) {
    case attn::Dtype::float32:
      return std::ldexp(1.0, -24);
    case attn::Dtype::float16:
      return std::ldexp(1.0, -11);
    case attn::Dtype::bfloat16:
      return std::ldexp(1.0, -8);
    default:
      return std::ldexp(1.0, -53);
  }
}

AttentionGradients gradient_magnitudes(const AttentionInputs& in, const Attention<3>& attention,
                                       const Tensor<3>& d_output, double temperature) {
  const double divisor = std::sqrt(static_cast<double>(in.Q.shape(2))) * temperature;
  AttentionGradients magnitudes;
  magnitudes.d_V = attn::matmul(attn::transpose(attention.weights), attn::absolute(d_output));
  magnitudes.d_weights = attn::matmul(attn::absolute(d_output), attn::transpose(attn::absolute(in.V)));
  magnitudes.d_scaled = through_softmax(attention.weights, magnitudes.d_weights);
  magnitudes.d_scores = attn::divide(magnitudes.d_scaled, divisor);
  magnitudes.d_Q = attn::matmul(magnitudes.d_scores, attn::absolute(in.K));
  magnitudes.d_K = attn::matmul(attn::transpose(magnitudes.d_scores), attn::absolute(in.Q));
  return magnitudes;
}

GradientCheck check_gradients(const AttentionInputs& in, const Attention<3>& attention,
                              const Tensor<3>& d_output, const AttentionGradients& gradients,
                              double temperature, attn::Dtype dtype, const RandomOf& random_of) {
  const double divisor = std::sqrt(static_cast<double>(in.Q.shape(2))) * temperature;
  const auto magnitudes = gradient_magnitudes(in, attention, d_output, temperature);
  const auto entries =
      static_cast<double>(in.Q.size() + in.K.size() + in.V.size() + 3 * attention.weights.size());
  GradientCheck result;
  result.entry_by_entry = 2.0 * entries * multiply_adds(in) <= affordable;

  const double relative = 16.0 * (score_step * score_step + unit_roundoff(dtype));
  const double largest_score = attn::max_abs(attention.scaled);
  const double noise = 8.0 * unit_roundoff(attn::Dtype::float64) / score_step * (1.0 + largest_score) *
                       sum_of_largest(magnitudes.d_weights);

  /// `reach` is how far a scaled score moves at most where one entry of x moves by 1, but no less than
  /// score_step / step, or 0 where L is linear in x.
  const auto check = [&](const char* name, const Matrices& x, const Matrices& gradient,
                         const Matrices& magnitude, const Function& output_of, double step, double reach,
                         const Matrices& direction) {
    const attn::GradientCheck<3> one = {output_of, x, d_output, gradient, step};
    const double deviation =
        result.entry_by_entry ? attn::deviation_entry_by_entry(one) : attn::deviation_along(one, direction);
    const double terms = result.entry_by_entry ? attn::max_abs(magnitude) : sum_of(magnitude);
    result.deviations.push_back({name, deviation, relative * terms + noise * reach});
  };
  const auto signs_for = [&](const std::string& name, const Matrices& x) {
    return random_signs(random_of("check/d_" + name), x.shape());
  };
  const auto check_linear = [&](const char* name, const Matrices& x, const Matrices& gradient,
                                const Matrices& magnitude, const Function& output_of) {
    check(name, x, gradient, magnitude, output_of, 1.0, 0.0, signs_for(name, x));
  };
  /// `scaled_of` is linear: it says how far the scaled scores move with x.
  const auto check_through_softmax = [&](const char* name, const Matrices& x, const Matrices& gradient,
                                         const Matrices& magnitude, const Function& scaled_of, double reach) {
    const auto direction = signs_for(name, x);
    if (!result.entry_by_entry) reach = attn::max_abs(scaled_of(direction));
    const auto output_of = [&](const Matrices& moved) {
      Matrices change(x.shape());
      std::transform(moved.begin(), moved.end(), x.begin(), change.begin(), std::minus<>());
      const auto scaled = attn::add(attention.scaled, scaled_of(change));
      return attn::matmul(attn::softmax(in.mask ? attn::apply_mask(scaled, *in.mask) : scaled), in.V);
    };
    const double step = reach == 0.0 ? 1.0 : std::min(score_step / reach, longest_step);
    check(name, x, gradient, magnitude, output_of, step, std::max(reach, score_step / step), direction);
  };

  check_linear("V", in.V, gradients.d_V, magnitudes.d_V,
               [&](const Matrices& V) { return attn::matmul(attention.weights, V); });
  check_linear("weights", attention.weights, gradients.d_weights, magnitudes.d_weights,
               [&](const Matrices& weights) { return attn::matmul(weights, in.V); });
  check_through_softmax(
      "scaled", attention.scaled, gradients.d_scaled, magnitudes.d_scaled,
      [](const Matrices& change) { return change; }, 1.0);
  check_through_softmax(
      "scores", attention.scores, gradients.d_scores, magnitudes.d_scores,
      [&](const Matrices& change) { return attn::divide(change, divisor); }, 1.0 / divisor);
  check_through_softmax(
      "Q", in.Q, gradients.d_Q, magnitudes.d_Q,
      [&](const Matrices& change) {
        return attn::divide(attn::matmul(change, attn::transpose(in.K)), divisor);
      },
      attn::max_abs(in.K) / divisor);
  check_through_softmax(
      "K", in.K, gradients.d_K, magnitudes.d_K,
      [&](const Matrices& change) {
        return attn::divide(attn::matmul(in.Q, attn::transpose(change)), divisor);
      },
      attn::max_abs(in.Q) / divisor);
  return result;
}

}  // namespace lessons
