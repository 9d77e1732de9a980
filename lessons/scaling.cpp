/// Why scores are divided by √d_k: first derived, then measured on random queries and keys.
/// Source: Vaswani et al. 2017, "Attention Is All You Need", section 3.2.1 with footnote 4.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "attn/error.hpp"
#include "attn/ops/arithmetic.hpp"
#include "attn/ops/measure.hpp"
#include "attn/ops/softmax.hpp"
#include "attn/ops/statistics.hpp"
#include "lessons/lesson.hpp"

namespace lessons {

namespace {

/// Softmax is measured on rows of this many scores.
constexpr std::size_t keys_per_row = 16;

/// How many samples a claim needs to be safe from chance. Scores have heavy tails where d_k is small, and the
/// Jacobian of a nearly one-hot row is small in most rows and large in a few.
constexpr std::size_t samples_for_standard_errors = 1024;
constexpr std::size_t samples_for_gradients = 4096, d_k_for_gradients = 256;

/// What is measured for one d_k.
struct Statistics {
  double d_k = 0.0;
  double mean = 0.0, variance = 0.0, std = 0.0;
  double entropy_raw = 0.0, entropy_scaled = 0.0;
  double max_weight_raw = 0.0, max_weight_scaled = 0.0;
  double jacobian_raw = 0.0, jacobian_scaled = 0.0;
};

/// What chance alone does to the mean of `samples` scores s: √(Var(s) / samples), and Var(s) = d_k.
double standard_error_of_mean(double d_k, double samples) {
  return std::sqrt(d_k / samples);
}

/// The same for their variance: √(Var(s²) / samples). For a given q the score s = qᵀk is normal with variance
/// |q|², so E[s⁴] = 3 E[|q|⁴] = 3 d_k² + 6 d_k, and Var(s²) = E[s⁴] − E[s²]² = 2 d_k² + 6 d_k.
double standard_error_of_variance(double d_k, double samples) {
  return std::sqrt((2.0 * d_k * d_k + 6.0 * d_k) / samples);
}

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

void derive(attn::Trace& trace) {
  trace.note(
      "idea", "The idea",
      "A score is the dot product of a query and a key: d_k products added up. The longer the vectors, the "
      "more there is to add. So how large do scores get, and what does their size do to attention? Suppose "
      "that every number of q and k is drawn independently, with mean 0 and variance 1.",
      "s = qᵀk = q₁k₁ + q₂k₂ + … + q_d k_d\n"
      "E[qᵢ] = E[kᵢ] = 0,   E[qᵢ²] = E[kᵢ²] = 1");
  trace.note(
      "term-mean", "One term: its mean",
      "qᵢ and kᵢ are independent, and the mean of a product of independent numbers is the product of their "
      "means. A term is positive as often as negative.",
      "E[qᵢkᵢ] = E[qᵢ] E[kᵢ] = 0 · 0 = 0");
  trace.note(
      "term-variance", "One term: its variance",
      "A variance is the mean of the square less the square of the mean. The squares are independent too.",
      "Var(qᵢkᵢ) = E[qᵢ² kᵢ²] − E[qᵢkᵢ]²\n"
      "          = E[qᵢ²] E[kᵢ²] − 0²\n"
      "          = 1 · 1 = 1");
  trace.note(
      "sum", "All d_k terms",
      "Means add up, always. Variances add up because the terms are independent: where one term is large, "
      "that says nothing about the next, so they neither all pull together nor all cancel.",
      "E[qᵀk]   = Σᵢ E[qᵢkᵢ]   = d_k · 0 = 0\n"
      "Var(qᵀk) = Σᵢ Var(qᵢkᵢ) = d_k · 1 = d_k");
  trace.note(
      "standard-deviation", "The size of a score",
      "The standard deviation says how far from 0 a score typically lies. It grows with the root of d_k: "
      "vectors four times as long give scores twice as large.",
      "std(qᵀk) = √Var(qᵀk) = √d_k");
  trace.note(
      "scale", "Dividing by √d_k",
      "Dividing a number by c divides its variance by c². So √d_k is the divisor that brings the variance to "
      "1 for every d_k. Dividing by d_k itself would be too much: the variance would be 1 / d_k, and in long "
      "vectors all scores would be nearly equal.",
      "Var(qᵀk / √d_k) = Var(qᵀk) / d_k = d_k / d_k = 1");
  trace.note(
      "why", "Why the size matters",
      "Softmax turns differences between scores into ratios between weights: a lead of x is a factor of eˣ. "
      "Among large scores the leads are large, so one key gets nearly everything and w is nearly one-hot. "
      "The derivative of softmax is then nearly 0 everywhere, and training, which must pass its gradient "
      "through it, cannot tell the query or the keys how to change.",
      "∂w/∂s = diag(w) − w wᵀ,  that is  ∂wᵢ/∂sⱼ = wᵢ (δᵢⱼ − wⱼ)\n"
      "w = (1, 0, …, 0)  ⇒  ∂wᵢ/∂sⱼ = 0 for all i and j");
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
      fmt::format("rng = np.random.RandomState({})\n"
                  "for d_k in [{}]:\n"
                  "    q = rng.normal(0, 1, ({samples}, d_k))\n"
                  "    k = rng.normal(0, 1, ({samples}, d_k))\n"
                  "    s = (q * k).sum(axis=1)\n"
                  "    print(d_k, s.mean(), s.var(), s.std())\n"
                  "    rows = s[:{whole}].reshape(-1, {})",
                  options.seed, fmt::join(options.d_k_list, ", "), keys_per_row,
                  fmt::arg("samples", *options.samples),
                  fmt::arg("whole", *options.samples / keys_per_row * keys_per_row)));
}

/// The dot products of `samples` random queries with as many random keys. All queries are drawn before the
/// first key, as in the NumPy code above; a key is needed only once.
template <class T>
Tensor<T, 1> draw_scores(Workbench<T>& bench, std::size_t samples, std::size_t d_k) {
  const auto queries = bench.random.template normal<2>(0.0, 1.0, {samples, d_k});
  Tensor<T, 1> scores = xt::zeros<T>({samples});
  for (std::size_t i = 0; i < samples; ++i) {
    double score = 0.0;
    for (std::size_t j = 0; j < d_k; ++j) {
      const auto q = static_cast<T>(queries(i, j)), k = static_cast<T>(bench.random.normal());
      score += static_cast<double>(q) * static_cast<double>(k);
    }
    scores(i) = static_cast<T>(score);
  }
  return scores;
}

/// [samples] → [samples / keys_per_row × keys_per_row], without the rest.
template <class T>
Tensor<T, 2> in_rows(const Tensor<T, 1>& scores) {
  auto rows = Tensor<T, 2>::from_shape({scores.size() / keys_per_row, keys_per_row});
  std::copy_n(scores.begin(), rows.size(), rows.begin());
  return rows;
}

template <class T>
Statistics measure(Workbench<T>& bench, std::size_t d_k) {
  const auto scores = draw_scores(bench, *bench.options.samples, d_k);
  const auto raw_scores = in_rows(scores);
  const auto raw = attn::softmax(raw_scores);
  const auto scaled = attn::softmax(attn::divide(raw_scores, std::sqrt(static_cast<double>(d_k))));
  return {.d_k = static_cast<double>(d_k),
          .mean = attn::mean(scores),
          .variance = attn::variance(scores),
          .std = std::sqrt(attn::variance(scores)),
          .entropy_raw = attn::mean_entropy(raw),
          .entropy_scaled = attn::mean_entropy(scaled),
          .max_weight_raw = attn::mean_max_weight(raw),
          .max_weight_scaled = attn::mean_max_weight(scaled),
          .jacobian_raw = attn::mean_jacobian_norm(raw),
          .jacobian_scaled = attn::mean_jacobian_norm(scaled)};
}

/// One statistic for each d_k.
template <class T>
Tensor<T, 1> column(const std::vector<Statistics>& measured, double Statistics::*statistic) {
  auto values = Tensor<T, 1>::from_shape({measured.size()});
  std::transform(measured.begin(), measured.end(), values.begin(),
                 [&](const Statistics& entry) { return static_cast<T>(entry.*statistic); });
  return values;
}

template <class T>
void show_inputs(Workbench<T>& bench) {
  const auto& dimensions = bench.options.d_k_list;
  auto d_k = Tensor<std::int64_t, 1>::from_shape({dimensions.size()});
  std::copy(dimensions.begin(), dimensions.end(), d_k.begin());
  bench.trace.input({.id = "d_k", .title = "The lengths of query and key to compare", .axes = {"d_k"}}, d_k);
  bench.trace.input({.id = "samples", .title = "How many scores to draw for each"},
                    static_cast<std::int64_t>(*bench.options.samples));

  std::vector<std::string> names;
  for (const auto dimension : dimensions) names.push_back(fmt::format("{}", dimension));
  bench.trace.label("d_k", {{names}});
}

template <class T>
void show_moments(Workbench<T>& bench, const std::vector<Statistics>& measured) {
  const auto& dimensions = bench.options.d_k_list;
  auto& trace = bench.trace;
  trace.step({.id = "mean",
              .title = "The mean of the scores",
              .formula = "(1 / samples) Σ qᵀk",
              .from = {"d_k", "samples"},
              .axes = {"d_k"},
              .note = "Theory: 0, for every d_k."},
             column<T>(measured, &Statistics::mean));
  trace.step({.id = "variance",
              .title = "Their variance",
              .formula = "(1 / samples) Σ (qᵀk − mean)²",
              .from = {"d_k", "samples"},
              .axes = {"d_k"},
              .note = "Theory: d_k = " + theory(dimensions, [](double d_k) { return d_k; }) + "."},
             column<T>(measured, &Statistics::variance));
  trace.step(
      {.id = "std",
       .title = "Their standard deviation: how large a score is",
       .formula = "√variance",
       .from = {"variance"},
       .axes = {"d_k"},
       .note = "Theory: √d_k = " + theory(dimensions, [](double d_k) { return std::sqrt(d_k); }) + "."},
      column<T>(measured, &Statistics::std));
}

template <class T>
void show_softmax(Workbench<T>& bench, const std::vector<Statistics>& measured) {
  const double keys = static_cast<double>(keys_per_row);
  const auto show = [&](attn::About about, double Statistics::*statistic) {
    about.from = {"d_k", "samples"};
    about.axes = {"d_k"};
    bench.trace.step(about, column<T>(measured, statistic));
  };
  show({.id = "entropy_raw",
        .title = "How widely attention spreads without the scale",
        .formula = "mean of −Σⱼ wⱼ ln wⱼ,  w = softmax(s)",
        .note = fmt::format(
            "The entropy of a row of weights. It is ln {} = {:.4f} where all keys share equally and 0 where "
            "one key gets everything.",
            keys_per_row, std::log(keys))},
       &Statistics::entropy_raw);
  show({.id = "entropy_scaled",
        .title = "… and with it",
        .formula = "mean of −Σⱼ wⱼ ln wⱼ,  w = softmax(s / √d_k)",
        .note = "These scores have variance 1 for every d_k, so d_k hardly matters any more."},
       &Statistics::entropy_scaled);
  show({.id = "max_weight_raw",
        .title = "What the best key gets without the scale",
        .formula = "mean of maxⱼ wⱼ,  w = softmax(s)",
        .note = fmt::format("The share of the best of {} keys: 1 is one-hot, {:.4f} is an equal share.",
                            keys_per_row, 1.0 / keys)},
       &Statistics::max_weight_raw);
  show({.id = "max_weight_scaled",
        .title = "… and with it: a lead, but not everything",
        .formula = "mean of maxⱼ wⱼ,  w = softmax(s / √d_k)"},
       &Statistics::max_weight_scaled);
  show({.id = "jacobian_raw",
        .title = "How much gradient gets through without the scale",
        .formula = "mean of ‖diag(w) − w wᵀ‖,  w = softmax(s)",
        .note =
            fmt::format("How much of a gradient gets through softmax (Frobenius norm): 0 where w is one-hot, "
                        "{:.4f} where all keys share equally, and most, 0.5, where two keys share alone. So "
                        "it may rise before it falls.",
                        std::sqrt(keys - 1.0) / keys)},
       &Statistics::jacobian_raw);
  show({.id = "jacobian_scaled",
        .title = "… and with it",
        .formula = "mean of ‖diag(w) − w wᵀ‖,  w = softmax(s / √d_k)"},
       &Statistics::jacobian_scaled);
}

std::string comparison_table(const std::vector<Statistics>& measured, double samples) {
  auto table = fmt::format("{:>7} {:>10} {:>9} {:>11} {:>9} {:>10} {:>9}", "d_k", "mean", "± error",
                           "variance", "± error", "std", "√d_k");
  for (const auto& entry : measured)
    table += fmt::format("\n{:>7} {:>10.4f} {:>9.4f} {:>11.5g} {:>9.4g} {:>10.5g} {:>9.5g}", entry.d_k,
                         entry.mean, standard_error_of_mean(entry.d_k, samples), entry.variance,
                         standard_error_of_variance(entry.d_k, samples), entry.std, std::sqrt(entry.d_k));
  return table;
}

/// The largest distance from theory over all d_k, in standard errors.
template <class Distance>
double worst(const std::vector<Statistics>& measured, Distance distance) {
  double largest = 0.0;
  for (const auto& entry : measured) largest = std::max(largest, std::abs(distance(entry)));
  return largest;
}

void claim_moments(attn::Trace& trace, const std::vector<Statistics>& measured, double samples) {
  trace.claim({.id = "mean-as-derived",
               .claim = "the mean of the scores is 0, within 4 standard errors for every d_k",
               .formula = "max |mean| / √(d_k / samples)",
               .value = worst(measured,
                              [&](const Statistics& entry) {
                                return entry.mean / standard_error_of_mean(entry.d_k, samples);
                              }),
               .limit = attn::at_most(4.0)});
  trace.claim({.id = "variance-as-derived",
               .claim = "the variance of the scores is d_k, within 4 standard errors for every d_k",
               .formula = "max |variance − d_k| / √((2 d_k² + 6 d_k) / samples)",
               .value = worst(measured,
                              [&](const Statistics& entry) {
                                return (entry.variance - entry.d_k) /
                                       standard_error_of_variance(entry.d_k, samples);
                              }),
               .limit = attn::at_most(4.0)});
}

void claim_gradient(attn::Trace& trace, const Statistics& largest) {
  trace.claim(
      {.id = "gradient-vanishes",
       .claim = fmt::format("at d_k = {}, less than half as much gradient gets through softmax without the "
                            "scale",
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

void compare_with_theory(attn::Trace& trace, const std::vector<Statistics>& measured, double samples,
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
        " What happens to the gradient stands out from chance, and is claimed, from d_k = {} and {} samples "
        "on.",
        d_k_for_gradients, samples_for_gradients);
  trace.note("comparison", "Measured beside theory", text, comparison_table(measured, samples));
}

template <class T>
void run(Workbench<T>& bench) {
  const auto& options = bench.options;
  require_something_to_measure(options);
  const auto samples = static_cast<double>(*options.samples);
  auto& trace = bench.trace;

  derive(trace);
  show_recipe(trace, options);
  show_inputs(bench);
  std::vector<Statistics> measured;
  for (const auto d_k : options.d_k_list) measured.push_back(measure(bench, d_k));
  const auto& largest = *std::max_element(measured.begin(), measured.end(),
                                          [](const auto& a, const auto& b) { return a.d_k < b.d_k; });

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
    .options = {"d-k-list", "samples", "seed", "dtype"},
    .takes_batches = false,
    .defaults = {.d_k_list = {4, 16, 64, 256}, .samples = 4096},
    .examples = {"scaling --d-k 4,64,1024", "scaling --d-k 512 --samples 8192 --seed 7"},
    .element_count = element_count,
    .run_float64 = run<double>,
    .run_float32 = run<float>,
};

}  // namespace lessons
