#include "lessons/backward/gradient_check.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "attn/ops/arithmetic.hpp"
#include "attn/ops/mask.hpp"
#include "attn/ops/matmul.hpp"
#include "attn/ops/measure.hpp"
#include "attn/ops/softmax.hpp"

namespace lessons {

namespace {

using Matrices = Tensor<3>;
using Function = std::function<Matrices(const Matrices&)>;

double multiply_adds(const AttentionInputs& in) {
  return static_cast<double>(in.Q.size() * in.K.shape(1)) + static_cast<double>(in.V.size() * in.Q.shape(1));
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

AttentionGradients<3> gradient_magnitudes(const AttentionInputs& in, const Attention<3>& attention,
                                          const Tensor<3>& d_output, double temperature) {
  const double divisor = std::sqrt(static_cast<double>(in.Q.shape(2))) * temperature;
  AttentionGradients<3> magnitudes;
  magnitudes.d_V = attn::matmul(attn::transpose(attention.weights), attn::absolute(d_output));
  magnitudes.d_weights = attn::matmul(attn::absolute(d_output), attn::transpose(attn::absolute(in.V)));
  magnitudes.d_scaled = through_softmax(attention.weights, magnitudes.d_weights);
  magnitudes.d_scores = attn::divide(magnitudes.d_scaled, divisor);
  magnitudes.d_Q = attn::matmul(magnitudes.d_scores, attn::absolute(in.K));
  magnitudes.d_K = attn::matmul(attn::transpose(magnitudes.d_scores), attn::absolute(in.Q));
  return magnitudes;
}

GradientCheck check_gradients(const AttentionInputs& in, const Attention<3>& attention,
                              const Tensor<3>& d_output, const AttentionGradients<3>& gradients,
                              double temperature, attn::Dtype dtype, const RandomOf& random_of) {
  const double divisor = std::sqrt(static_cast<double>(in.Q.shape(2))) * temperature;
  const auto magnitudes = gradient_magnitudes(in, attention, d_output, temperature);
  const auto entries =
      static_cast<double>(in.Q.size() + in.K.size() + in.V.size() + 3 * attention.weights.size());
  const DifferenceCheck check(attention, d_output, magnitudes.d_weights, dtype,
                              2.0 * entries * multiply_adds(in) <= affordable_multiply_adds);
  GradientCheck result{.entry_by_entry = check.entry_by_entry()};

  const auto check_linear = [&](const MovedTensor& moved) {
    result.deviations.push_back(
        check.in_linear(moved, random_signs(random_of("check/d_" + moved.name), moved.x.shape())));
  };
  /// `scaled_of` is linear: it says how far the scaled scores move with x. `reach` is how far one of them
  /// moves at most where one entry of x moves by 1.
  const auto check_through_softmax = [&](MovedTensor moved, const Function& scaled_of, double reach) {
    const auto direction = random_signs(random_of("check/d_" + moved.name), moved.x.shape());
    if (!check.entry_by_entry()) reach = attn::max_abs(scaled_of(direction));
    moved.output_of = [&, &start = moved.x](const Matrices& x) {
      const auto scaled = attn::add(attention.scaled, scaled_of(difference(x, start)));
      return attn::matmul(attn::softmax(in.mask ? attn::apply_mask(scaled, *in.mask) : scaled), in.V);
    };
    result.deviations.push_back(check.through_softmax(moved, reach, direction));
  };

  check_linear({"V", in.V, gradients.d_V, magnitudes.d_V,
                [&](const Matrices& V) { return attn::matmul(attention.weights, V); }});
  check_linear({"weights", attention.weights, gradients.d_weights, magnitudes.d_weights,
                [&](const Matrices& weights) { return attn::matmul(weights, in.V); }});
  check_through_softmax(
      {"scaled", attention.scaled, gradients.d_scaled, magnitudes.d_scaled, {}},
      [](const Matrices& change) { return change; }, 1.0);
  check_through_softmax(
      {"scores", attention.scores, gradients.d_scores, magnitudes.d_scores, {}},
      [&](const Matrices& change) { return attn::divide(change, divisor); }, 1.0 / divisor);
  check_through_softmax(
      {"Q", in.Q, gradients.d_Q, magnitudes.d_Q, {}},
      [&](const Matrices& change) {
        return attn::divide(attn::matmul(change, attn::transpose(in.K)), divisor);
      },
      attn::max_abs(in.K) / divisor);
  check_through_softmax(
      {"K", in.K, gradients.d_K, magnitudes.d_K, {}},
      [&](const Matrices& change) {
        return attn::divide(attn::matmul(in.Q, attn::transpose(change)), divisor);
      },
      attn::max_abs(in.Q) / divisor);
  return result;
}

}  // namespace lessons
