#include "lessons/backward/mistakes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <functional>
#include <string>
#include <utility>

#include "attn/ops/arithmetic.hpp"
#include "attn/ops/heads.hpp"
#include "attn/ops/layer_norm.hpp"
#include "attn/ops/linear_backward.hpp"
#include "attn/ops/mask.hpp"
#include "attn/ops/matmul.hpp"
#include "attn/ops/slice.hpp"
#include "attn/ops/softmax.hpp"
#include "lessons/documents/step_alone.hpp"
#include "lessons/multihead/mistakes.hpp"

namespace lessons {

namespace {

template <std::size_t N>
bool is_square(const Tensor<N>& x) {
  return x.shape(N - 1) == x.shape(N - 2);
}

/// How many query heads share a head of keys.
template <std::size_t N>
std::size_t readers_of(const AttentionKept<N>& kept) {
  return N == 4 ? kept.Q.shape(1) / kept.K.shape(1) : 1;
}

/// The gradient of shared heads from those of the query heads that read them: their sum.
template <std::size_t N>
Tensor<N> summed_over_readers(const Tensor<N>& d, std::size_t readers) {
  if constexpr (N == 4)
    return attn::repeat_heads_backward(d, d.shape(1) / readers);
  else
    return d;
}

/// The gradient of shared heads from that of query head `reader` of each group alone.
Tensor<4> of_one_reader(const Tensor<4>& d, std::size_t readers, std::size_t reader) {
  std::vector<Tensor<3>> heads;
  for (std::size_t h = reader; h < d.shape(1); h += readers) heads.push_back(attn::head(d, h));
  return attn::stack_heads(heads);
}

/// What becomes of a gradient `d` of shared heads that is not added up over the query heads.
template <std::size_t N>
void add_mistakes_of_sharing(attn::Mistakes& mistakes, std::size_t readers,
                             const std::function<Tensor<N>()>& d) {
  if constexpr (N == 4) {
    if (readers == 1) return;
    mistakes.emplace_back("backward-heads-not-summed:first", [=] { return of_one_reader(d(), readers, 0); });
    mistakes.emplace_back("backward-heads-not-summed:last",
                          [=] { return of_one_reader(d(), readers, readers - 1); });
    mistakes.emplace_back("backward-averaged:heads", [=] {
      return attn::divide(summed_over_readers(d(), readers), static_cast<double>(readers));
    });
  }
}

/// The weights as who computes them again without the mask has them: exp(scaled − log-sum-exp of the row).
template <std::size_t N>
Tensor<N> weights_without_mask(const AttentionKept<N>& kept) {
  return attn::softmax_from(*kept.scaled, attn::log_sum_exp(attn::apply_mask(*kept.scaled, *kept.mask)));
}

}  // namespace

template <std::size_t N>
attn::Mistakes mistakes_of_d_V(const AttentionKept<N>& kept, const Tensor<N>& d_output) {
  const auto& weights = kept.used_weights();
  const auto readers = readers_of(kept);
  const auto from = [=, &d_output](const Tensor<N>& w) { return attn::matmul(attn::transpose(w), d_output); };
  attn::Mistakes mistakes;
  if (is_square(weights))
    for (const auto* id : {"backward-not-transposed:V", "weights-transposed"})
      mistakes.emplace_back(id, [=, &weights, &d_output] {
        return summed_over_readers(attn::matmul(weights, d_output), readers);
      });
  if (kept.mask && kept.scaled != nullptr)
    mistakes.emplace_back("backward-mask-missing", [=, &kept] {
      return summed_over_readers(from(weights_without_mask(kept)), readers);
    });
  add_mistakes_of_sharing<N>(mistakes, readers, [=, &weights] { return from(weights); });
  return mistakes;
}

template <std::size_t N>
attn::Mistakes mistakes_of_d_weights(const Workbench& bench, const Tensor<N>& d_output, const Tensor<N>& V) {
  return StepAlone(bench, "d_weights")
      .with("d_output", "query", "d_v", d_output)
      .with("V", "key", "d_v", V)
      .mistakes("d_weights[query, key] = sum(d_v) d_output * V");
}

template <std::size_t N>
attn::Mistakes mistakes_of_d_scaled(const Workbench& bench, const AttentionKept<N>& kept, const Tensor<N>& d,
                                    double divisor) {
  StepAlone step(bench, "d_scaled");
  step.with("weights", "query", "key", kept.weights).with("d_weights", "query", "key", d);
  step.with("temperature", 1.0).with("d_k", divisor * divisor);
  if (kept.scaled != nullptr) step.with("scaled", "query", "key", *kept.scaled);
  if (kept.mask) step.with("mask", "query", "key", *kept.mask);
  if (kept.mask && kept.scaled != nullptr)
    step.with_own("masked", "query", "key", attn::apply_mask(*kept.scaled, *kept.mask));
  return step.mistakes("d_scaled[query, key] = weights * (d_weights - sum(key) weights * d_weights)");
}

template <std::size_t N>
attn::Mistakes mistakes_of_d_scores(const Workbench& bench, const Tensor<N>& d_scaled, std::size_t d_k) {
  return StepAlone(bench, "d_scores")
      .with("d_scaled", "query", "key", d_scaled)
      .with("d_k", static_cast<double>(d_k))
      .mistakes("d_scores[query, key] = d_scaled");
}

template <std::size_t N>
attn::Mistakes mistakes_of_d_Q(const Workbench& bench, const AttentionKept<N>& kept,
                               const Tensor<N>& d_scores, const Tensor<N>& K) {
  return StepAlone(bench, "d_Q")
      .with("d_scores", "query", "key", d_scores)
      .with("K", "key", "d_k", K)
      .with("Q", "query", "d_k", kept.Q)
      .mistakes("d_Q[query, d_k] = sum(key) d_scores * K");
}

template <std::size_t N>
attn::Mistakes mistakes_of_d_K(const AttentionKept<N>& kept, const Tensor<N>& d_scores, const Tensor<N>& K,
                               double divisor) {
  const auto readers = readers_of(kept);
  const std::function<Tensor<N>()> right = [&] { return attn::matmul(attn::transpose(d_scores), kept.Q); };
  const auto divided = [=] { return attn::divide(summed_over_readers(right(), readers), divisor); };
  attn::Mistakes mistakes = {{"backward-scale-twice:products", divided}, {"scores-already-scaled", divided}};
  add_mistakes_of_sharing<N>(mistakes, readers, right);
  if (!is_square(d_scores)) return mistakes;
  for (const auto* id : {"backward-not-transposed:K", "qk-swapped"})
    mistakes.emplace_back(
        id, [=, &kept, &d_scores] { return summed_over_readers(attn::matmul(d_scores, kept.Q), readers); });
  mistakes.emplace_back("backward-wrong-operand:K", [=, &d_scores, &K] {
    return summed_over_readers(attn::matmul(attn::transpose(d_scores), K), readers);
  });
  return mistakes;
}

attn::Mistakes mistakes_of_d_heads(const Tensor<3>& d_concat, std::size_t heads) {
  const auto split = [&d_concat, heads] { return split_by_reshape_alone(d_concat, heads); };
  return {{"backward-heads-reshape-only:split", split}, {"merge-reshape-only", split}};
}

attn::Mistakes mistakes_of_merged_gradient(const Tensor<4>& d_heads) {
  const auto merged = [&d_heads] { return merged_by_reshape_alone(d_heads); };
  return {{"backward-heads-reshape-only", merged}, {"heads-reshape-only", merged}};
}

attn::Mistakes mistakes_of_weight_gradient(const Workbench& bench, const Tensor<3>& x, const Tensor<3>& d_y) {
  return StepAlone(bench, "d_W_Q")
      .with("X", "query", "d_model", x)
      .with("d_Q", "query", "d_k", d_y)
      .mistakes("d_W_Q[d_model, d_k] = sum(batch) sum(query) X * d_Q");
}

attn::Mistakes mistakes_of_bias_gradient(const Workbench& bench, Tensor<3> d_y) {
  return StepAlone(bench, "d_b_Q")
      .with_own("d_Q", "query", "d_k", std::move(d_y))
      .mistakes("d_b_Q[d_k] = sum(batch) sum(query) d_Q");
}

attn::Mistakes mistakes_of_d_vectors(const Workbench& bench, const std::vector<UseOfVectors>& uses) {
  if (uses.size() == 1) return {};
  const std::string name = uses.size() == 2 ? "d_X_source" : "d_X";
  StepAlone step(bench, name);
  std::vector<std::string> terms;
  for (const auto& [projection, d_projection, W] : uses) {
    const auto d = "d_" + projection, weight = "W_" + projection;
    step.with(d.c_str(), "token", projection.c_str(), d_projection)
        .with(weight.c_str(), "d_model", projection.c_str(), W);
    terms.push_back(fmt::format("(sum({0}) {1}[token, {0}] * {2}[d_model, {0}])", projection, d, weight));
  }
  return step.mistakes(fmt::format("{}[token, d_model] = {}", name, fmt::join(terms, " + ")));
}

attn::Mistakes mistakes_of_residual_gradient(const std::optional<Named>& besides,
                                             const Tensor<3>& through_sublayer) {
  if (!besides) return {};
  return {{"backward-residual-missing", [&through_sublayer] { return through_sublayer; }},
          {"backward-sublayer-missing", [&besides] { return besides->tensor; }}};
}

namespace {

constexpr double epsilon_of_norm = 1e-5;

/// What of layer norm's gradient is left out.
struct NormWithout {
  bool mean = false, spread = false, gain = false;
};

/// (d − mean(d) − s · mean(d · s)) / σ without one term or the other.
Tensor<3> norm_gradient_without(const NormWithout& without, const Tensor<3>& x, const Tensor<1>& gain,
                                const Tensor<3>& d_y) {
  const auto d = x.shape(2);
  const auto s = attn::standardize(x);
  const auto width = static_cast<double>(d);
  auto result = d_y;
  for (std::size_t row = 0; row < x.size(); row += d) {
    const auto d_s = [&](std::size_t i) { return d_y.data()[row + i] * (without.gain ? 1.0 : gain(i)); };
    double mean = 0.0, squares = 0.0, mean_d = 0.0, mean_d_s = 0.0;
    for (std::size_t i = 0; i < d; ++i) mean += x.data()[row + i] / width;
    for (std::size_t i = 0; i < d; ++i) {
      squares += (x.data()[row + i] - mean) * (x.data()[row + i] - mean);
      mean_d += d_s(i) / width;
      mean_d_s += d_s(i) * s.data()[row + i] / width;
    }
    const double sigma = std::sqrt(squares / width + epsilon_of_norm);
    for (std::size_t i = 0; i < d; ++i)
      result.data()[row + i] =
          (d_s(i) - (without.mean ? 0.0 : mean_d) - (without.spread ? 0.0 : s.data()[row + i] * mean_d_s)) /
          sigma;
  }
  return result;
}

}  // namespace

attn::Mistakes mistakes_of_norm_gradient(const Tensor<3>& x, const Tensor<1>& gain, const Tensor<3>& d_y,
                                         const std::optional<Named>& besides) {
  const auto without = [&](const NormWithout& what) {
    return [&, what] {
      auto gradient = norm_gradient_without(what, x, gain, d_y);
      return besides ? attn::add(besides->tensor, gradient) : gradient;
    };
  };
  attn::Mistakes mistakes = {{"backward-norm-as-constant", without({.mean = true, .spread = true})},
                             {"backward-norm-as-constant:mean", without({.mean = true})},
                             {"backward-norm-as-constant:spread", without({.spread = true})},
                             {"backward-norm-no-gain", without({.gain = true})}};
  if (!besides) return mistakes;
  mistakes.emplace_back("backward-residual-missing", [&] { return norm_gradient_without({}, x, gain, d_y); });
  mistakes.emplace_back("backward-sublayer-missing", [&] { return besides->tensor; });
  return mistakes;
}

attn::Mistakes mistakes_of_gain_gradient(const Workbench& bench, const Tensor<3>& x, const Tensor<3>& d_y) {
  auto mistakes = mistakes_of_bias_gradient(bench, attn::multiply(attn::standardize(x), d_y));
  mistakes.emplace_back("backward-gain-of-input",
                        [&] { return attn::linear_backward_bias(attn::multiply(x, d_y)); });
  return mistakes;
}

attn::Mistakes mistakes_of_activation_gradient(attn::Activation activation, const Tensor<3>& z,
                                               const Tensor<3>& d_hidden) {
  attn::Mistakes mistakes = {{"backward-activation-missing", [&d_hidden] { return d_hidden; }}};
  if (activation == attn::Activation::gelu)
    mistakes.emplace_back("backward-activation-other",
                          [&] { return attn::activate_backward(attn::Activation::relu, z, d_hidden); });
  return mistakes;
}

#define INSTANTIATE(N)                                                                                      \
  template attn::Mistakes mistakes_of_d_V(const AttentionKept<N>&, const Tensor<N>&);                       \
  template attn::Mistakes mistakes_of_d_weights(const Workbench&, const Tensor<N>&, const Tensor<N>&);      \
  template attn::Mistakes mistakes_of_d_scaled(const Workbench&, const AttentionKept<N>&, const Tensor<N>&, \
                                               double);                                                     \
  template attn::Mistakes mistakes_of_d_scores(const Workbench&, const Tensor<N>&, std::size_t);            \
  template attn::Mistakes mistakes_of_d_Q(const Workbench&, const AttentionKept<N>&, const Tensor<N>&,      \
                                          const Tensor<N>&);                                                \
  template attn::Mistakes mistakes_of_d_K(const AttentionKept<N>&, const Tensor<N>&, const Tensor<N>&,      \
                                          double);
INSTANTIATE(3)
INSTANTIATE(4)
#undef INSTANTIATE

}  // namespace lessons
