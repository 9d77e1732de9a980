/// Dropout of attention weights over many masks. Source: Srivastava et al. 2014, "Dropout: A Simple Way to
/// Prevent Neural Networks from Overfitting".

#include "attn/ops/dropout.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>

#include "attn/ops/measure.hpp"
#include "attn/ops/precision.hpp"
#include "attn/ops/softmax.hpp"
#include "lessons/training.hpp"
#include "lessons/workbench/claims.hpp"

namespace lessons {

namespace {

/// Fewer drops, or fewer weights that are kept, make no normal distribution.
constexpr double fewest_drops = 100.0;

/// weights² · p / (1 − p).
Tensor<1> variance_of_dropped(const Tensor<1>& weights, double p) {
  Tensor<1> variance(weights.shape());
  std::transform(weights.begin(), weights.end(), variance.begin(),
                 [p](double weight) { return weight * weight * (p / (1.0 - p)); });
  return variance;
}

}  // namespace

/// Mean and variance are updated mask by mask (Welford 1962), so that a weight that is never dropped keeps
/// its value exactly and has variance 0.
DropoutMoments dropout_moments(attn::Random& random, const Tensor<1>& weights, double p,
                               std::size_t samples) {
  if (samples == 0) throw std::invalid_argument("[dropout_moments] samples is 0: it must be at least 1");
  Tensor<1> mean = xt::zeros<double>(weights.shape()), sum_of_squares = mean;
  Integers<1> first_mask, kept = xt::zeros<std::int64_t>(weights.shape());
  for (std::size_t sample = 0; sample < samples; ++sample) {
    const auto mask = attn::dropout_mask<1>(random, p, weights.shape());
    const auto dropped = attn::dropout(weights, mask, p);
    if (sample == 0) first_mask = mask;
    for (std::size_t j = 0; j < mean.size(); ++j) {
      kept(j) += mask(j);
      const double deviation = dropped(j) - mean(j);
      mean(j) += deviation / static_cast<double>(sample + 1);
      sum_of_squares(j) += deviation * (dropped(j) - mean(j));
    }
  }
  for (double& sum : sum_of_squares) sum /= static_cast<double>(samples);
  return {first_mask, mean, sum_of_squares, kept};
}

double error_of_mean(const Tensor<1>& mean, const Tensor<1>& weights, double p, double samples,
                     attn::Dtype dtype) {
  double largest = 0.0;
  for (std::size_t j = 0; j < weights.size(); ++j) {
    const double rounding_error = 2.0 * attn::largest_rounding_error(dtype, weights(j)) +
                                  samples * attn::largest_rounding_error(attn::Dtype::float64, weights(j));
    const double error = attn::maximum({0.0, std::abs(mean(j) - weights(j)) - rounding_error});
    const double standard_error = weights(j) * std::sqrt(p / (1.0 - p) / samples);
    largest = attn::maximum({largest, error == 0.0 ? 0.0 : error / standard_error});
  }
  return largest;
}

namespace {

void show_dropout_code(const Workbench& bench) {
  const auto keep = fmt::format("{}", 1.0 - bench.options.dropout);
  bench.code({"shares = np.exp(dropout_scores - dropout_scores.max())",
              "dropout_weights = shares / shares.sum()",
              fmt::format("dropout_dropped = dropout_weights * dropout_mask / {}", keep),
              fmt::format("share = dropout_kept / {}          # of all masks", *bench.options.samples),
              fmt::format("dropout_mean = dropout_weights * share / {}", keep),
              fmt::format("dropout_variance = (dropout_weights / {}) ** 2 * share * (1 - share)", keep)});
}

/// "Keys 1, 4 are dropped. The others, divided by 0.7, sum to 1.2001."
std::string note_of_dropped(const Tensor<1>& weights, const Integers<1>& mask, double p) {
  std::vector<std::size_t> dropped;
  double sum = 0.0;
  for (std::size_t j = 0; j < weights.size(); ++j) {
    if (mask(j) == 0) dropped.push_back(j);
    sum += weights(j) * static_cast<double>(mask(j)) / (1.0 - p);
  }
  const auto what = dropped.empty()       ? std::string("This mask drops none")
                    : dropped.size() == 1 ? fmt::format("Key {} is dropped", dropped[0])
                                          : fmt::format("Keys {} are dropped", fmt::join(dropped, ", "));
  return fmt::format("{}. The others, divided by {:g}, sum to {:.4f}.", what, 1.0 - p, sum);
}

}  // namespace

ShownDropout show_dropout(Workbench& bench) {
  const double p = bench.options.dropout;
  const auto samples = *bench.options.samples;
  auto& trace = bench.trace;
  show_dropout_code(bench);
  const auto scores = bench.input<1>({.id = "scores", .title = "The scores of one query"}, {dropout_keys});
  const auto weights = trace.step({.id = "weights",
                                   .title = "One query's attention weights",
                                   .formula = "softmax(scores)",
                                   .from = {"scores"},
                                   .axes = {"key"},
                                   .distribution = true,
                                   .worked = attn::worked_softmax(attn::Known<1>{"scores", scores})},
                                  attn::softmax(scores));
  const auto moments = dropout_moments(bench.random("mask"), weights, p, samples);
  trace.settled_input({.id = "mask",
                       .title = fmt::format("The first of {} masks", samples),
                       .formula = fmt::format("binomial(1, 1 − p), p = {:g}", p),
                       .axes = {"key"},
                       .note = "0 drops the weight, 1 keeps it. A 1 has the probability 1 − p."},
                      moments.first_mask);
  trace.settled_input({.id = "kept",
                       .title = fmt::format("How many of the {} masks keep each", samples),
                       .formula = fmt::format("how many of {} masks keep each weight", samples),
                       .axes = {"key"}},
                      moments.kept);
  trace.step(
      {.id = "dropped",
       .title = "After the first mask",
       .formula = fmt::format("weights · mask / (1 − p) = weights · mask / {:g}", 1.0 - p),
       .from = {"weights", "mask"},
       .axes = {"key"},
       .note = p == 0.0 ? "With p = 0 nothing is dropped." : note_of_dropped(weights, moments.first_mask, p),
       .worked = attn::worked_dropout(attn::Known<1>{"weights", weights}, "mask", moments.first_mask, p)},
      attn::dropout(weights, moments.first_mask, p));
  const auto mean = trace.step(
      {.id = "mean",
       .title = "The weights again",
       .formula = fmt::format("mean of dropped over {} masks", samples),
       .from = {"weights"},
       .axes = {"key"},
       .note = fmt::format("Entry 0: {:.4f} · {} / {} / {:g} ≈ {:.4f}. On average the weights stay what "
                           "they were: this is what the division by 1 − p is for.",
                           weights(0), moments.kept(0), samples, 1.0 - p, moments.mean(0))},
      moments.mean);
  trace.step({.id = "variance",
              .title = "What dropout adds",
              .formula = fmt::format("variance of dropped over {} masks", samples),
              .from = {"weights"},
              .axes = {"key"},
              .note = fmt::format("In theory weights² · p / (1 − p), for entry 0 {:.4f}² · {:.4f} ≈ {:.4f}. "
                                  "Without dropout there is none.",
                                  weights(0), p / (1.0 - p), weights(0) * weights(0) * p / (1.0 - p))},
             moments.variance);
  trace.step({.id = "variance_theory",
              .title = "The variance in theory",
              .formula = fmt::format("weights² · p / (1 − p) = weights² · {:.3g}", p / (1.0 - p)),
              .from = {"weights"},
              .axes = {"key"},
              .worked =
                  [&](const attn::Index& at) {
                    const auto odds = attn::Worked(p) / (attn::Worked(1.0) - attn::Worked(p));
                    return attn::Worked::product({square(attn::Known<1>{"weights", weights}(at)), odds});
                  }},
             variance_of_dropped(weights, p));
  return {weights, mean};
}

void claim_dropout(Workbench& bench, const ShownDropout& shown) {
  auto& trace = bench.trace;
  const auto& options = bench.options;
  const double p = options.dropout;
  const auto samples = static_cast<double>(*options.samples);
  if (p == 0.0)
    trace.claim({.id = "dropout-keeps-the-mean",
                 .claim = "without dropout every weight stays what it is",
                 .formula = "max |mean − weights|",
                 .value = attn::max_abs_difference(shown.mean, shown.weights),
                 .limit = rounding(trace)});
  else if (samples * std::min(p, 1.0 - p) >= fewest_drops)
    trace.claim({.id = "dropout-keeps-the-mean",
                 .claim = "dropout keeps each weight on average (in standard errors)",
                 .formula = "max |mean − weights| / (weights · √(p / (1 − p) / samples))",
                 .value = error_of_mean(shown.mean, shown.weights, p, samples, trace.dtype()),
                 .limit = attn::at_most(standard_errors)});
  else
    trace.note("too-few-masks", "Too few masks",
               "Too few weights are dropped or kept to say how far chance may throw the mean. Nothing is "
               "claimed about it.");
}

}  // namespace lessons
