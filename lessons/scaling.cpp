/// Why scores are divided by √d_k: first derived, then measured on random queries and keys.
/// Source: Vaswani et al. 2017, "Attention Is All You Need", section 3.2.1 with footnote 4.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "attn/error.hpp"
#include "attn/ops/measure.hpp"
#include "attn/ops/score_statistics.hpp"
#include "lessons/lesson.hpp"
#include "lessons/scaling/derivation.hpp"

namespace lessons {

namespace {

using attn::ScoreStatistics;

/// Softmax is measured on rows of this many scores.
constexpr std::size_t keys_per_row = 16;

/// How many samples a claim needs to be safe from chance. Scores have heavy tails where d_k is small, and the
/// Jacobian of a nearly one-hot row is small in most rows and large in a few.
constexpr std::size_t samples_for_standard_errors = 1024;
constexpr std::size_t samples_for_gradients = 4096, d_k_for_gradients = 256;

void require_something_to_measure(const Options& options) {
  if (options.d_k_list.empty())
    throw attn::Error("--d-k names no dimension; valid: one or more, as in 4,16,64");
  if (*options.samples < keys_per_row)
    throw attn::Error(fmt::format("--samples {0} does not fill a row of {1} keys; valid: {1} or more",
                                  *options.samples, keys_per_row));
}

/// "2, 4, 8, …": the first values of a function of d_k.
template <class Function>
std::string theory(const std::vector<std::size_t>& dimensions, Function function) {
  constexpr std::size_t shown = 8;
  std::vector<std::string> values;
  for (const auto d_k : dimensions) {
    values.push_back(values.size() < shown ? fmt::format("{:.4g}", function(static_cast<double>(d_k))) : "…");
    if (values.size() > shown) break;
  }
  return fmt::format("{}", fmt::join(values, ", "));
}

/// The NumPy code that draws what is drawn here, with the numbers of this run.
void show_recipe(attn::Trace& trace, const Options& options) {
  trace.note(
      "draws", "The measurement",
      fmt::format("Now the same with numbers. For each d_k, {0} queries and {0} keys are drawn, and the dot "
                  "product of each pair. To see what softmax makes of them, the scores are cut into rows of "
                  "{1}, as if each row were one query's scores for {1} keys. A rest that fills no row is "
                  "left out. This NumPy code draws the same numbers:",
                  *options.samples, keys_per_row),
      fmt::format("rng = {}\n"
                  "for d_k in [{}]:\n"
                  "    q = rng.normal(0, 1, ({samples}, d_k))\n"
                  "    k = rng.normal(0, 1, ({samples}, d_k))\n"
                  "    s = (q * k).sum(axis=1)\n"
                  "    print(d_k, s.mean(), s.var(), s.std())\n"
                  "    rows = s[:{whole}].reshape(-1, {})",
                  numpy_generator(options), fmt::join(options.d_k_list, ", "), keys_per_row,
                  fmt::arg("samples", *options.samples),
                  fmt::arg("whole", *options.samples / keys_per_row * keys_per_row)));
}

std::vector<ScoreStatistics> measure(Workbench& bench) {
  std::vector<ScoreStatistics> measured;
  for (const auto d_k : bench.options.d_k_list) {
    const auto scores = attn::random_scores(bench.random, *bench.options.samples, d_k);
    measured.push_back(attn::score_statistics(scores, d_k, keys_per_row));
  }
  return measured;
}

/// One statistic for each d_k.
Tensor<1> column(const std::vector<ScoreStatistics>& measured, double ScoreStatistics::*statistic) {
  auto values = Tensor<1>::from_shape({measured.size()});
  std::transform(measured.begin(), measured.end(), values.begin(),
                 [&](const ScoreStatistics& entry) { return static_cast<double>(entry.*statistic); });
  return values;
}

void show_inputs(Workbench& bench) {
  const auto& dimensions = bench.options.d_k_list;
  auto d_k = Integers<1>::from_shape({dimensions.size()});
  std::copy(dimensions.begin(), dimensions.end(), d_k.begin());
  bench.trace.input({.id = "d_k", .title = "The lengths of query and key to compare", .axes = {"d_k"}}, d_k);
  bench.trace.input({.id = "samples", .title = "How many scores to draw for each"},
                    static_cast<std::int64_t>(*bench.options.samples));

  std::vector<std::string> names;
  for (const auto dimension : dimensions) names.push_back(fmt::format("{}", dimension));
  bench.trace.label("d_k", {{names}});
}

void show_moments(Workbench& bench, const std::vector<ScoreStatistics>& measured) {
  const auto& dimensions = bench.options.d_k_list;
  auto& trace = bench.trace;
  trace.step({.id = "mean",
              .title = "The mean of the scores",
              .formula = "(1 / samples) Σ qᵀk",
              .from = {"d_k", "samples"},
              .axes = {"d_k"},
              .note = "Theory: 0, for every d_k."},
             column(measured, &ScoreStatistics::mean));
  trace.step({.id = "variance",
              .title = "Their variance",
              .formula = "(1 / samples) Σ (qᵀk − mean)²",
              .from = {"d_k", "samples"},
              .axes = {"d_k"},
              .note = "Theory: d_k = " + theory(dimensions, [](double d_k) { return d_k; }) + "."},
             column(measured, &ScoreStatistics::variance));
  trace.step(
      {.id = "std",
       .title = "Their standard deviation: how large a score is",
       .formula = "√variance",
       .from = {"variance"},
       .axes = {"d_k"},
       .note = "Theory: √d_k = " + theory(dimensions, [](double d_k) { return std::sqrt(d_k); }) + "."},
      column(measured, &ScoreStatistics::std));
}

void show_softmax(Workbench& bench, const std::vector<ScoreStatistics>& measured) {
  const double keys = static_cast<double>(keys_per_row);
  const auto show = [&](attn::About about, double ScoreStatistics::*statistic) {
    about.from = {"d_k", "samples"};
    about.axes = {"d_k"};
    bench.trace.step(about, column(measured, statistic));
  };
  show({.id = "entropy_raw",
        .title = "How widely attention spreads without the scale",
        .formula = "mean of −Σⱼ wⱼ ln wⱼ,  w = softmax(s)",
        .note = fmt::format(
            "The entropy of a row of weights. It is ln {} = {:.4f} where all keys share equally and 0 where "
            "one key gets everything.",
            keys_per_row, std::log(keys))},
       &ScoreStatistics::entropy_raw);
  show({.id = "entropy_scaled",
        .title = "… and with it",
        .formula = "mean of −Σⱼ wⱼ ln wⱼ,  w = softmax(s / √d_k)",
        .note = "These scores have variance 1 for every d_k, so d_k hardly matters any more."},
       &ScoreStatistics::entropy_scaled);
  show({.id = "max_weight_raw",
        .title = "What the best key gets without the scale",
        .formula = "mean of maxⱼ wⱼ,  w = softmax(s)",
        .note = fmt::format("The share of the best of {} keys: 1 is one-hot, {:.4f} is an equal share.",
                            keys_per_row, 1.0 / keys)},
       &ScoreStatistics::max_weight_raw);
  show({.id = "max_weight_scaled",
        .title = "… and with it: a lead, but not everything",
        .formula = "mean of maxⱼ wⱼ,  w = softmax(s / √d_k)"},
       &ScoreStatistics::max_weight_scaled);
  show({.id = "jacobian_raw",
        .title = "How much gradient gets through without the scale",
        .formula = "mean of ‖diag(w) − w wᵀ‖,  w = softmax(s)",
        .note =
            fmt::format("How much of a gradient gets through softmax (Frobenius norm): 0 where w is one-hot, "
                        "{:.4f} where all keys share equally, and most, 0.5, where two keys share alone. So "
                        "it may rise before it falls.",
                        std::sqrt(keys - 1.0) / keys)},
       &ScoreStatistics::jacobian_raw);
  show({.id = "jacobian_scaled",
        .title = "… and with it",
        .formula = "mean of ‖diag(w) − w wᵀ‖,  w = softmax(s / √d_k)"},
       &ScoreStatistics::jacobian_scaled);
}

std::string comparison_table(const std::vector<ScoreStatistics>& measured, double samples) {
  auto table = fmt::format("{:>7} {:>10} {:>9} {:>11} {:>9} {:>10} {:>9}", "d_k", "mean", "± error",
                           "variance", "± error", "std", "√d_k");
  for (const auto& entry : measured)
    table +=
        fmt::format("\n{:>7} {:>10.4f} {:>9.4f} {:>11.5g} {:>9.4g} {:>10.5g} {:>9.5g}", entry.d_k, entry.mean,
                    attn::standard_error_of_mean(entry.d_k, samples), entry.variance,
                    attn::standard_error_of_variance(entry.d_k, samples), entry.std, std::sqrt(entry.d_k));
  return table;
}

void claim_moments(attn::Trace& trace, const std::vector<ScoreStatistics>& measured, double samples) {
  double of_mean = 0.0, of_variance = 0.0;  // the largest distance from theory, in standard errors
  for (const auto& entry : measured) {
    const double mean_error = attn::standard_error_of_mean(entry.d_k, samples);
    const double variance_error = attn::standard_error_of_variance(entry.d_k, samples);
    of_mean = attn::maximum({of_mean, std::abs(entry.mean) / mean_error});
    of_variance = attn::maximum({of_variance, std::abs(entry.variance - entry.d_k) / variance_error});
  }
  trace.claim({.id = "mean-as-derived",
               .claim = "the mean of the scores is 0, within 4 standard errors for every d_k",
               .formula = "max |mean| / √(d_k / samples)",
               .value = of_mean,
               .limit = attn::at_most(4.0)});
  trace.claim({.id = "variance-as-derived",
               .claim = "the variance of the scores is d_k, within 4 standard errors for every d_k",
               .formula = "max |variance − d_k| / √((2 d_k² + 6 d_k) / samples)",
               .value = of_variance,
               .limit = attn::at_most(4.0)});
}

void claim_gradient(attn::Trace& trace, const ScoreStatistics& largest) {
  trace.claim({.id = "gradient-vanishes",
               .claim = fmt::format(
                   "at d_k = {}, less than half as much gradient gets through softmax without the scale",
                   largest.d_k),
               .formula = "jacobian_raw / jacobian_scaled",
               .value = largest.jacobian_raw / largest.jacobian_scaled,
               .limit = attn::at_most(0.5)});
}

/// Whether there are enough samples for the claims.
bool can_claim_moments(double samples) {
  return samples >= samples_for_standard_errors;
}
bool can_claim_gradient(double samples, double largest_d_k) {
  return samples >= samples_for_gradients && largest_d_k >= d_k_for_gradients;
}

void compare_with_theory(attn::Trace& trace, const std::vector<ScoreStatistics>& measured, double samples,
                         double largest_d_k) {
  auto text = fmt::format(
      "Theory says 0 for the mean, d_k for the variance and √d_k for the standard deviation. The columns ± "
      "error hold one standard error: how far chance throws a mean or a variance of {} scores. Two out of "
      "three land within one of them, and about one in 15000 beyond four.",
      samples);
  if (!can_claim_moments(samples))
    text +=
        fmt::format(" For fewer than {} samples that is only roughly so, and nothing is claimed about them.",
                    samples_for_standard_errors);
  if (largest_d_k == 1.0)
    text += " With d_k = 1 there is nothing to scale: √1 = 1, so raw and scaled are the same.";
  else if (!can_claim_gradient(samples, largest_d_k))
    text += fmt::format(
        " What happens to the gradient stands out from chance, and is claimed, from d_k = {} and {} "
        "samples on.",
        d_k_for_gradients, samples_for_gradients);
  trace.note("comparison", "Measured beside theory", text, comparison_table(measured, samples));
}

void run(Workbench& bench) {
  const auto& options = bench.options;
  require_something_to_measure(options);
  const auto samples = static_cast<double>(*options.samples);
  auto& trace = bench.trace;

  show_derivation(trace);
  show_recipe(trace, options);
  show_inputs(bench);
  const auto measured = measure(bench);
  const auto largest = std::ranges::max(measured, {}, &ScoreStatistics::d_k);

  show_moments(bench, measured);
  show_softmax(bench, measured);
  compare_with_theory(trace, measured, samples, largest.d_k);

  if (can_claim_moments(samples)) claim_moments(trace, measured, samples);
  if (can_claim_gradient(samples, largest.d_k)) claim_gradient(trace, largest);
}

/// Every query and key is counted although few are held at a time: this bounds the time, too.
double element_count(const Plan& plan) {
  const auto samples = static_cast<double>(*plan.options.samples);
  double count = 0.0;
  for (const auto d_k : plan.options.d_k_list)
    count += samples * (2.0 * static_cast<double>(d_k) + 5.0) + 10.0;
  return count;
}

}  // namespace

extern const Lesson scaling;
const Lesson scaling = {
    .name = "scaling",
    .title = "why scores are divided by √d_k",
    .teaches =
        "The dot product of two random vectors has mean 0 and variance d_k: derived term by term, then "
        "measured. Without the division by √d_k, softmax gives nearly everything to a single key as vectors "
        "get longer, and no gradient gets through; with it, attention is the same for every d_k.",
    .options = {"d-k-list", "samples", "seed", "rng", "dtype"},
    .takes_batches = false,
    .defaults = {.d_k_list = {4, 16, 64, 256}, .samples = 4096},
    .examples = {"scaling --d-k 4,64,1024", "scaling --d-k 512 --samples 8192 --seed 7"},
    .element_count = element_count,
    .run = run,
};

}  // namespace lessons
