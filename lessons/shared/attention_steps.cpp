#include "lessons/shared/attention_steps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "attn/error.hpp"
#include "attn/ops/arithmetic.hpp"
#include "attn/ops/dropout.hpp"
#include "attn/ops/mask.hpp"
#include "attn/ops/matmul.hpp"
#include "attn/ops/measure.hpp"
#include "attn/ops/softmax.hpp"

namespace lessons {

namespace {

/// Several heads have an axis more, and names of their own.
template <std::size_t N>
constexpr bool has_heads = N == 4;

template <std::size_t N>
std::string suffix() {
  return has_heads<N> ? "_heads" : "";
}

template <std::size_t N>
std::vector<std::string> axes_of_query_by(const std::string& last) {
  return has_heads<N> ? std::vector<std::string>{"head", "query", last}
                      : std::vector<std::string>{"query", last};
}

/// "scores / √d_k = scores / √4 = scores / 2", and with the temperature where there is one.
std::string scaling_formula(std::size_t d_k, double temperature) {
  const double divisor = std::sqrt(static_cast<double>(d_k)) * temperature;
  if (temperature == 1.0) return fmt::format("scores / √d_k = scores / √{} = scores / {:.4g}", d_k, divisor);
  return fmt::format("scores / (√d_k · T) = scores / (√{} · {:g}) = scores / {:.4g}", d_k, temperature,
                     divisor);
}

template <std::size_t N>
Tensor<N> show_dropout(Workbench& bench, const Tensor<N>& weights,
                          const std::vector<std::string>& axes) {
  const double p = bench.options.dropout;
  const auto mask =
      bench.trace.input({.id = "dropout_mask",
                         .title = "Which weights survive dropout",
                         .formula = fmt::format("binomial(1, 1 − p), p = {:g}", p),
                         .axes = axes,
                         .note = "Each weight is kept (1) or dropped (0) by a draw of its own."},
                        attn::dropout_mask<N>(bench.random, p, weights.shape()));
  if (std::any_of(mask.begin(), mask.end(), [](std::int64_t kept) { return kept != 0 && kept != 1; }))
    throw attn::Error(
        "dropout_mask in --input has other elements than 0 and 1; valid: 1 for a weight that is kept");
  const auto dropped = bench.trace.step(
      {.id = "dropped",
       .title = "Weights after dropout",
       .formula = fmt::format("weights · dropout_mask / (1 − p) = weights · dropout_mask / {:g}", 1.0 - p),
       .from = {"weights", "dropout_mask"},
       .axes = axes,
       .note = "The survivors grow by 1 / (1 − p), so that a weight keeps its expected value.",
       .distribution = true},
      attn::dropout(weights, mask, p));
  bench.trace.note(
      "dropout-at-inference", "These rows are no longer shares",
      fmt::format("With dropout a row need not sum to 1: the sums here are off by up to {:.4f}. That is "
                  "right in training, where it keeps the model from leaning on single tokens. Left on "
                  "when a model is used or looked at, it is a mistake: what you read as attention is "
                  "partly chance. Run again with --dropout 0 for the weights themselves.",
                  attn::row_sum_deviation(dropped)));
  return dropped;
}

}  // namespace

template <std::size_t N>
std::pair<Tensor<N>, Tensor<N>> show_scores(Workbench& bench, const Tensor<N>& Q,
                                                  const Tensor<N>& K) {
  const std::size_t d_k = Q.shape().back();
  const double temperature = bench.options.temperature;
  auto& trace = bench.trace;
  const auto scores = trace.step({.id = "scores",
                                  .title = "How well does each query match each key?",
                                  .formula = fmt::format("Q{0} K{0}ᵀ", suffix<N>()),
                                  .from = {"Q" + suffix<N>(), "K" + suffix<N>()},
                                  .axes = axes_of_query_by<N>("key"),
                                  .note = "Row i holds the dot products of query i with every key. A large "
                                          "one means that the two vectors point the same way."},
                                 attn::matmul(Q, attn::transpose(K)));

  const auto scaled = trace.step(
      {.id = "scaled",
       .title = "Scores of a size that does not depend on d_k",
       .formula = scaling_formula(d_k, temperature),
       .from = {"scores"},
       .axes = axes_of_query_by<N>("key"),
       .note =
           "A dot product of d_k terms with variance 1 has variance d_k. Dividing by √d_k brings it back to "
           "1, so that softmax is not driven to a single key (see the lesson scaling)."},
      attn::divide(scores, std::sqrt(static_cast<double>(d_k)) * temperature));
  return {scores, scaled};
}

template <std::size_t N>
ShownAttention<N> show_attention(Workbench& bench, const Tensor<N>& Q, const Tensor<N>& K,
                                    const Tensor<N>& V, const std::optional<Mask<3>>& mask) {
  const auto query_key = axes_of_query_by<N>("key");
  auto& trace = bench.trace;
  ShownAttention<N> shown;
  auto& [scores, scaled, masked, weights, output] = shown.attention;

  std::tie(scores, scaled) = show_scores(bench, Q, K);

  if (mask)
    masked = trace.step({.id = "masked",
                         .title = "What may not be seen gets −∞",
                         .formula = "scaled where mask, −∞ elsewhere",
                         .from = {"scaled", "mask"},
                         .axes = query_key,
                         .note = "exp(−∞) is exactly 0, so a hidden key gets no weight at all."},
                        attn::apply_mask(scaled, *mask));

  weights = trace.step(
      {.id = "weights",
       .title = "Each row becomes shares of attention",
       .formula = mask ? "softmax(masked)" : "softmax(scaled)",
       .from = {mask ? "masked" : "scaled"},
       .axes = query_key,
       .note = "softmax(x)ⱼ = exp(xⱼ) / Σ exp(x): every weight is between 0 and 1 and a row sums to 1. "
               "Read a row as: this token looks that much at each of those.",
       .distribution = true},
      attn::softmax(mask ? *masked : scaled));

  if (bench.options.dropout > 0.0) shown.dropped = show_dropout(bench, weights, query_key);

  const std::string used = shown.dropped ? "dropped" : "weights";
  shown.result =
      trace.step({.id = has_heads<N> ? "heads" : "output",
                  .title = "Every query takes home a mixture of the values",
                  .formula = fmt::format("{} V{}", used, suffix<N>()),
                  .from = {used, "V" + suffix<N>()},
                  .axes = axes_of_query_by<N>("d_v"),
                  .note = "Row i is the average of the rows of V, weighted with row i of the weights."},
                 attn::matmul(shown.dropped ? *shown.dropped : weights, V));
  output = shown.dropped ? attn::matmul(weights, V) : shown.result;
  return shown;
}

template std::pair<Tensor<3>, Tensor<3>> show_scores(Workbench&, const Tensor<3>&, const Tensor<3>&);
template ShownAttention<3> show_attention(Workbench&, const Tensor<3>&, const Tensor<3>&, const Tensor<3>&, const std::optional<Mask<3>>&);
template std::pair<Tensor<4>, Tensor<4>> show_scores(Workbench&, const Tensor<4>&, const Tensor<4>&);
template ShownAttention<4> show_attention(Workbench&, const Tensor<4>&, const Tensor<4>&, const Tensor<4>&, const std::optional<Mask<3>>&);

}  // namespace lessons
