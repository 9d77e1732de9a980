#include "lessons/backward/mistakes.hpp"

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
#include "lessons/multihead/mistakes.hpp"
#include "lessons/sdpa/mistakes.hpp"

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

/// wⱼ (dⱼ − Σₖ vₖ dₖ) along each row.
template <std::size_t N>
Tensor<N> weighted_deviation(const Tensor<N>& w, const Tensor<N>& d, const Tensor<N>& v) {
  const auto length = w.shape(N - 1);
  auto result = w;
  for (std::size_t row = 0; row < w.size(); row += length) {
    double sum = 0.0;
    for (std::size_t j = row; j < row + length; ++j) sum += v.data()[j] * d.data()[j];
    for (std::size_t j = row; j < row + length; ++j) result.data()[j] *= d.data()[j] - sum;
  }
  return result;
}

/// wᵢⱼ (dᵢⱼ − the sum of row j): what NumPy makes of row sums that have lost their axis.
template <std::size_t N>
Tensor<N> minus_sums_of_other_rows(const Tensor<N>& w, const Tensor<N>& d) {
  const auto length = w.shape(N - 1);
  auto result = w;
  for (std::size_t matrix = 0; matrix < w.size(); matrix += length * length) {
    std::vector<double> sums(length, 0.0);
    for (std::size_t i = 0; i < length * length; ++i)
      sums[i / length] += w.data()[matrix + i] * d.data()[matrix + i];
    for (std::size_t i = 0; i < length * length; ++i)
      result.data()[matrix + i] *= d.data()[matrix + i] - sums[i % length];
  }
  return result;
}

/// `f` of each weight and its gradient.
template <std::size_t N, class F>
Tensor<N> of_each(const Tensor<N>& w, const Tensor<N>& d, F f) {
  auto result = w;
  for (std::size_t i = 0; i < w.size(); ++i) result.data()[i] = f(w.data()[i], d.data()[i]);
  return result;
}

/// Softmax's backward down the columns.
template <std::size_t N>
Tensor<N> softmax_backward_along_queries(const Tensor<N>& w, const Tensor<N>& d) {
  return attn::transpose(attn::softmax_backward(attn::transpose(w), attn::transpose(d)));
}

/// x, and 0 where the mask [batch×query×key] hides a key.
template <std::size_t N>
Tensor<N> where_seen(Tensor<N> x, const Mask<3>& mask) {
  const auto of_sample = x.size() / mask.shape(0), pairs = mask.shape(1) * mask.shape(2);
  for (std::size_t i = 0; i < x.size(); ++i)
    if (!mask.data()[i / of_sample * pairs + i % pairs]) x.data()[i] = 0.0;
  return x;
}

/// Whether the mistake of the mask puts a number in the place of hidden scores, which then have no gradient.
bool is_replacing_fill(const std::string& id) {
  return (id.starts_with("mask-fill-zero") || id.starts_with("mask-fill-too-small")) &&
         id.find(":added") == std::string::npos;
}

/// One sample of a batch as a batch of one.
Tensor<3> sample_alone(const Tensor<3>& x, std::size_t index) {
  return attn::as_batch(attn::sample(x, index));
}

/// Of a gradient that is the sum over the tokens of all samples: `of_sample` computes that of one sample,
/// `of_all` the whole.
template <class OfSample, class OfAll>
attn::Mistakes mistakes_of_sum(std::size_t samples, std::size_t tokens, OfSample of_sample, OfAll of_all) {
  const auto divided = [of_all](std::size_t by) {
    return [of_all, by] { return attn::divide(of_all(), static_cast<double>(by)); };
  };
  attn::Mistakes mistakes = {{"backward-averaged:tokens", divided(tokens)}};
  if (samples == 1) return mistakes;
  mistakes.emplace_back("backward-averaged:samples", divided(samples));
  mistakes.emplace_back("backward-averaged", divided(samples * tokens));
  mistakes.emplace_back("backward-batch-not-summed:first", [=] { return of_sample(0); });
  mistakes.emplace_back("backward-batch-not-summed:last", [=] { return of_sample(samples - 1); });
  return mistakes;
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
attn::Mistakes mistakes_of_d_weights(const Tensor<N>& d_output, const Tensor<N>& V) {
  if (d_output.shape(N - 2) != V.shape(N - 2)) return {};
  const auto transposed = [&] { return attn::matmul(V, attn::transpose(d_output)); };
  return {{"backward-not-transposed:weights", transposed}, {"weights-transposed", transposed}};
}

namespace {

/// Mistakes of the forward pass as they go back, when nothing is wrong with the backward pass itself.
template <std::size_t N>
void add_mistaken_softmax(attn::Mistakes& mistakes, const Workbench& bench, const AttentionKept<N>& kept,
                          const Tensor<N>& d, double divisor) {
  const auto& w = kept.weights;
  mistakes.emplace_back("softmax-axis", [&] { return softmax_backward_along_queries(w, d); });
  if (divisor != 1.0)
    mistakes.emplace_back("scale-after-softmax", [&w, &d, divisor] {
      return weighted_deviation(w, d, attn::divide(w, 1.0 / divisor));
    });
  if (!kept.mask || kept.scaled == nullptr) return;
  mistakes.emplace_back("mask-after-softmax", [&] {
    auto shares = attn::softmax(*kept.scaled);  // those of hidden keys are not 0, and take part
    for (std::size_t i = 0; i < w.size(); ++i)
      if (w.data()[i] != 0.0) shares.data()[i] = w.data()[i];
    return weighted_deviation(shares, where_seen(d, *kept.mask), w);
  });
  for (const auto& mistake : mistakes_of_masked(bench, *kept.scaled, *kept.mask))
    if (is_replacing_fill(mistake.id()))
      mistakes.emplace_back(mistake.id(), [&]() -> std::optional<Tensor<N>> {
        if (where_seen(w, *kept.mask) == w) return std::nullopt;  // nothing hidden has a weight
        return where_seen(attn::softmax_backward(w, d), *kept.mask);
      });
}

}  // namespace

template <std::size_t N>
attn::Mistakes mistakes_of_d_scaled(const Workbench& bench, const AttentionKept<N>& kept, const Tensor<N>& d,
                                    double divisor) {
  const auto& w = kept.weights;
  attn::Mistakes mistakes = {
      {"backward-no-softmax-sum",
       [&] { return of_each(w, d, [](double weight, double d_weight) { return weight * d_weight; }); }},
      {"backward-softmax-as-sigmoid",
       [&] {
         return of_each(w, d,
                        [](double weight, double d_weight) { return weight * (1.0 - weight) * d_weight; });
       }},
      {"backward-softmax-plain-sum", [&] { return weighted_deviation(w, d, Tensor<N>(w.shape(), 1.0)); }},
      {"backward-softmax-plain-sum:mean",
       [&] {
         return weighted_deviation(w, d, Tensor<N>(w.shape(), 1.0 / static_cast<double>(w.shape(N - 1))));
       }},
      {"backward-softmax-axis", [&] { return softmax_backward_along_queries(w, d); }}};
  if (is_square(w))
    mistakes.emplace_back("backward-softmax-axis:lost", [&] { return minus_sums_of_other_rows(w, d); });
  if (kept.scaled != nullptr)
    mistakes.emplace_back("backward-softmax-of-scores",
                          [&] { return weighted_deviation(*kept.scaled, d, *kept.scaled); });
  if (kept.mask && kept.scaled != nullptr)
    mistakes.emplace_back("backward-mask-missing",
                          [&] { return weighted_deviation(weights_without_mask(kept), d, w); });
  add_mistaken_softmax(mistakes, bench, kept, d, divisor);
  return mistakes;
}

template <std::size_t N>
attn::Mistakes mistakes_of_d_scores(const Workbench& bench, const Tensor<N>& d_scaled, std::size_t d_k,
                                    double divisor) {
  auto mistakes = mistakes_of_divisor(bench, d_scaled, d_k);  // of a forward pass that divides so, too
  for (const auto* id : {"backward-no-scale", "scale-after-softmax", "scores-already-scaled"})
    mistakes.emplace_back(id, [&d_scaled] { return d_scaled; });
  mistakes.emplace_back("backward-scale-twice",
                        [=, &d_scaled] { return attn::divide(d_scaled, divisor * divisor); });
  mistakes.emplace_back("backward-scale-multiplied",
                        [=, &d_scaled] { return attn::divide(d_scaled, 1.0 / divisor); });
  return mistakes;
}

template <std::size_t N>
attn::Mistakes mistakes_of_d_Q(const AttentionKept<N>& kept, const Tensor<N>& d_scores, const Tensor<N>& K,
                               double divisor) {
  const auto divided = [&d_scores, &K, divisor] { return attn::divide(attn::matmul(d_scores, K), divisor); };
  attn::Mistakes mistakes = {{"backward-scale-twice:products", divided}, {"scores-already-scaled", divided}};
  if (!is_square(d_scores)) return mistakes;
  for (const auto* id : {"backward-not-transposed:Q", "qk-swapped"})
    mistakes.emplace_back(id, [&] { return attn::matmul(attn::transpose(d_scores), K); });
  mistakes.emplace_back("backward-wrong-operand:Q", [&] { return attn::matmul(d_scores, kept.Q); });
  return mistakes;
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

attn::Mistakes mistakes_of_weight_gradient(const Tensor<3>& x, const Tensor<3>& d_y) {
  return mistakes_of_sum(
      x.shape(0), x.shape(1),
      [&](std::size_t b) { return attn::linear_backward_weight(sample_alone(x, b), sample_alone(d_y, b)); },
      [&] { return attn::linear_backward_weight(x, d_y); });
}

attn::Mistakes mistakes_of_bias_gradient(const Tensor<3>& d_y) {
  return mistakes_of_sum(
      d_y.shape(0), d_y.shape(1),
      [&](std::size_t b) { return attn::linear_backward_bias(sample_alone(d_y, b)); },
      [&] { return attn::linear_backward_bias(d_y); });
}

attn::Mistakes mistakes_of_d_vectors(const std::vector<UseOfVectors>& uses) {
  attn::Mistakes mistakes;
  const std::size_t all = std::size_t{1} << uses.size();
  for (std::size_t kept = 1; kept + 1 < all; ++kept) {
    std::string forgotten;
    for (std::size_t i = 0; i < uses.size(); ++i)
      if ((kept >> i & 1) == 0) forgotten += uses[i].projection;
    mistakes.emplace_back("backward-path-forgotten:" + forgotten, [&uses, kept] {
      std::optional<Tensor<3>> sum;
      for (std::size_t i = 0; i < uses.size(); ++i) {
        if ((kept >> i & 1) == 0) continue;
        auto part = attn::linear_backward_input(uses[i].d_projection, uses[i].W);
        sum = sum ? attn::add(*sum, part) : std::move(part);
      }
      return *sum;
    });
  }
  return mistakes;
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

attn::Mistakes mistakes_of_gain_gradient(const Tensor<3>& x, const Tensor<3>& d_y) {
  auto mistakes = mistakes_of_sum(
      x.shape(0), x.shape(1),
      [&](std::size_t b) {
        const auto of_sample = attn::multiply(attn::standardize(sample_alone(x, b)), sample_alone(d_y, b));
        return attn::linear_backward_bias(of_sample);
      },
      [&] { return attn::linear_backward_bias(attn::multiply(attn::standardize(x), d_y)); });
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
  template attn::Mistakes mistakes_of_d_weights(const Tensor<N>&, const Tensor<N>&);                        \
  template attn::Mistakes mistakes_of_d_scaled(const Workbench&, const AttentionKept<N>&, const Tensor<N>&, \
                                               double);                                                     \
  template attn::Mistakes mistakes_of_d_scores(const Workbench&, const Tensor<N>&, std::size_t, double);    \
  template attn::Mistakes mistakes_of_d_Q(const AttentionKept<N>&, const Tensor<N>&, const Tensor<N>&,      \
                                          double);                                                          \
  template attn::Mistakes mistakes_of_d_K(const AttentionKept<N>&, const Tensor<N>&, const Tensor<N>&,      \
                                          double);
INSTANTIATE(3)
INSTANTIATE(4)
#undef INSTANTIATE

}  // namespace lessons
