/// Why scores are divided by √d_k: first derived, then measured on random queries and keys.
/// Source: Vaswani et al. 2017, "Attention Is All You Need", section 3.2.1 with footnote 4.

#include "lessons/scaling.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "attn/error.hpp"
#include "attn/ops/arithmetic.hpp"
#include "attn/ops/measure.hpp"
#include "attn/ops/precision.hpp"
#include "attn/ops/slice.hpp"
#include "attn/ops/softmax.hpp"
#include "attn/ops/statistics.hpp"
#include "attn/text/width.hpp"
#include "lessons/lesson.hpp"
#include "lessons/sdpa.hpp"
#include "lessons/workbench/columns.hpp"
#include "lessons/workbench/notice.hpp"

namespace lessons {

Tensor<1> dot_products(const Tensor<2>& queries, const Tensor<2>& keys) {
  auto scores = Tensor<1>::from_shape({queries.shape(0)});
  for (std::size_t i = 0; i < scores.size(); ++i) {
    double score = 0.0;
    for (std::size_t j = 0; j < queries.shape(1); ++j) score += queries(i, j) * keys(i, j);
    scores(i) = score;
  }
  return scores;
}

Tensor<2> weights_of(const Tensor<1>& scores, std::size_t keys, double divisor) {
  return attn::softmax(attn::divide(attn::cut_into_rows(scores, keys), divisor));
}

double standard_error_of_mean(double d_k, double samples) {
  return std::sqrt(d_k / samples);
}

double standard_error_of_variance(double d_k, double samples) {
  return std::sqrt((2.0 * d_k * d_k + 6.0 * d_k) / samples);
}

namespace {

/// Softmax is measured on rows of this many scores, and shown on a row of fewer.
constexpr std::size_t keys_per_row = 16, keys_of_example = 4;

/// How many samples a claim needs to be safe from chance. Scores have heavy tails where d_k is small, and the
/// Jacobian of a nearly one-hot row is small in most rows and large in a few.
constexpr std::size_t samples_for_standard_errors = 1024;

/// How many standard errors chance hardly ever makes: at d_k = 1 with the fewest samples, whose scores have
/// the heaviest tails, a variance is farther off in about one run of a hundred million.
constexpr double beyond_chance = 8.0;

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

/// Why the variance of a score is d_k, and what that has to do with attention: in short, then step by step.
void show_derivation(attn::Trace& trace) {
  trace.note("derivation", "Why scores grow with √d_k",
             "E[x] is the mean of x. Var(x) = E[x²] − E[x]² is its variance. The standard deviation std(x) = "
             "√Var(x) says how far x typically is from its mean. Each qᵢ and kᵢ has mean 0 and variance 1, "
             "so E[qᵢ²] = E[kᵢ²] = 1.",
             "E[qᵢkᵢ]    = E[qᵢ] E[kᵢ] = 0 · 0 = 0    independent: means multiply\n"
             "Var(qᵢkᵢ)  = E[qᵢ²] E[kᵢ²] − 0² = 1     the same for their squares\n"
             "Var(q · k) = 1 + 1 + … + 1 = d_k        independent: variances add up\n"
             "std(q · k) = √d_k                       the size of a typical score\n"
             "std(q · k / √d_k) = √d_k / √d_k = 1     divided: the same for every d_k");
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
      "E[q · k]   = Σᵢ E[qᵢkᵢ]   = d_k · 0 = 0\n"
      "Var(q · k) = Σᵢ Var(qᵢkᵢ) = d_k · 1 = d_k");
  trace.note(
      "standard-deviation", "The size of a score",
      "The standard deviation says how far from 0 a score typically lies. It grows with the root of d_k: "
      "vectors four times as long give scores twice as large.",
      "std(q · k) = √Var(q · k) = √d_k");
  trace.note(
      "scale", "Dividing by √d_k",
      "Dividing a number by c divides its variance by c². So √d_k is the divisor that brings the variance to "
      "1 for every d_k. Dividing by d_k itself would be too much: the variance would be 1 / d_k, and in long "
      "vectors all scores would be nearly equal.",
      "Var(q · k / √d_k) = Var(q · k) / d_k = d_k / d_k = 1");
  trace.note(
      "why", "Why the size matters",
      "Softmax turns a lead of x between two scores into a factor of eˣ between their weights. Among large "
      "scores the leads are large: one key gets nearly everything, and w is nearly one-hot. The derivative "
      "of softmax is then nearly 0: a small change of the scores changes no weight, so training cannot tell "
      "the query or the keys how to change.",
      "∂w/∂s = diag(w) − w wᵀ,  that is  ∂wᵢ/∂sⱼ = wᵢ (δᵢⱼ − wⱼ)\n"
      "w = (1, 0, …, 0)  ⇒  ∂wᵢ/∂sⱼ = 0 for all i and j");
}

/// The code that draws what is drawn here, with the numbers of this run.
void show_measurement(attn::Trace& trace, const Options& options) {
  const DrawCode code{options};
  const auto shape = fmt::format("({}, d_k)", *options.samples);
  trace.note(
      "draws", "The measurement",
      fmt::format("Now the same with numbers. For each d_k, {0} queries and {0} keys are drawn, and the dot "
                  "product of each pair. To see what softmax makes of them, the scores are cut into rows of "
                  "{1}, as if each row were one query's scores for {1} keys. A rest that fills no row is "
                  "left out. This {2} code draws the same numbers:",
                  *options.samples, keys_per_row, code.library()),
      fmt::format("{}\n"
                  "for d_k in [{}]:\n"
                  "    q = {}\n"
                  "    k = {}\n"
                  "    s = (q * k).sum(axis=1)\n"
                  "    print(d_k, s.mean(), s.var(), s.std())\n"
                  "    rows = s[:{whole}].reshape(-1, {})",
                  code.begin(), fmt::join(options.d_k_list, ", "), code.normal("f\"q d_k={d_k}\"", shape),
                  code.normal("f\"k d_k={d_k}\"", shape), keys_per_row,
                  fmt::arg("whole", *options.samples / keys_per_row * keys_per_row)));
}

/// One number for each d_k: [d_k].
template <class T, class Measure>
Tensor<1> for_each_d_k(const std::vector<T>& all, Measure measure) {
  auto values = Tensor<1>::from_shape({all.size()});
  std::transform(all.begin(), all.end(), values.begin(), measure);
  return values;
}

/// Names the entries along d_k "4", "64", …, or with "d_k=" before it "d_k=4": such a name is no index.
void label_dimensions(Workbench& bench, const std::string& start) {
  std::vector<std::string> names;
  for (const auto dimension : bench.options.d_k_list) names.push_back(fmt::format("{}{}", start, dimension));
  bench.trace.label("d_k", {{names}});
}

void show_inputs(Workbench& bench) {
  const auto& dimensions = bench.options.d_k_list;
  auto d_k = Integers<1>::from_shape({dimensions.size()});
  std::copy(dimensions.begin(), dimensions.end(), d_k.begin());
  bench.trace.input({.id = "d_k", .title = "The lengths of query and key to compare", .axes = {"d_k"}}, d_k);
  bench.trace.input({.id = "samples", .title = "How many scores to draw for each"},
                    static_cast<std::int64_t>(*bench.options.samples));

  label_dimensions(bench, "");
}

/// The moments of the scores, each [d_k].
struct Moments {
  Tensor<1> mean, variance, std;
};

Tensor<1> square_roots(const Tensor<1>& x) {
  Tensor<1> roots(x.shape());
  std::transform(x.begin(), x.end(), roots.begin(), [](double element) { return std::sqrt(element); });
  return roots;
}

Moments show_moments(Workbench& bench, const std::vector<Tensor<1>>& scores) {
  const auto& dimensions = bench.options.d_k_list;
  auto& trace = bench.trace;
  const auto mean = trace.step({.id = "mean",
                                .title = "The mean of the scores",
                                .formula = "(1 / samples) Σ q · k",
                                .from = {"d_k", "samples"},
                                .axes = {"d_k"},
                                .note = "Theory: 0, for every d_k."},
                               for_each_d_k(scores, attn::mean));
  const auto variance =
      trace.step({.id = "variance",
                  .title = "The variance of the scores",
                  .formula = "(1 / samples) Σ (q · k − mean)²",
                  .from = {"d_k", "samples"},
                  .axes = {"d_k"},
                  .note = "Theory: d_k = " + theory(dimensions, [](double d_k) { return d_k; }) + "."},
                 for_each_d_k(scores, attn::variance));
  const auto std = trace.step(
      {.id = "std",
       .title = "The standard deviation of the scores: how large a score is",
       .formula = "√variance",
       .from = {"variance"},
       .axes = {"d_k"},
       .note = "Theory: √d_k = " + theory(dimensions, [](double d_k) { return std::sqrt(d_k); }) + ".",
       .curve = dimensions.size() > 1,
       .worked =
           [&](const attn::Index& at) {
             return sqrt(attn::Known<1>{"variance", variance}(at));
           }},
      square_roots(variance));
  return {mean, variance, std};
}

attn::Index best_of_last_row(const Tensor<2>& scores) {
  const auto last = scores.shape(0) - 1;
  const double* row = &scores(last, 0);
  return {last, attn::argmax(row, scores.shape(1))};
}

/// What softmax makes of the first scores of each d_k, with and without the scale.
void show_example(Workbench& bench, const std::vector<Tensor<1>>& all_scores) {
  constexpr auto shown = keys_of_example;
  const auto& dimensions = bench.options.d_k_list;
  auto& trace = bench.trace;
  auto scores = Tensor<2>::from_shape({dimensions.size(), shown});
  for (std::size_t i = 0; i < dimensions.size(); ++i)
    std::copy_n(all_scores[i].begin(), shown, &scores(i, 0));
  scores =
      trace.step({.id = "example/scores",
                  .title = "The first four scores of each d_k",
                  .formula = "q · k",
                  .from = {"d_k", "samples"},
                  .axes = {"d_k", "key"},
                  .note = "A row is taken as one query's scores for keys 0 to 3. Their q and k are random."},
                 std::move(scores));
  const auto weights_raw = trace.step({.id = "example/weights_raw",
                                       .title = "No scale: raw",
                                       .formula = "softmax(scores)",
                                       .from = {"example/scores"},
                                       .axes = {"d_k", "key"},
                                       .note = "A score that is larger by x gets eˣ times the share.",
                                       .distribution = true,
                                       .worked = attn::worked_softmax(attn::Known{"example/scores", scores}),
                                       .worked_at = best_of_last_row(scores)},
                                      attn::softmax(scores));

  auto quotients = scores;
  for (std::size_t i = 0; i < dimensions.size(); ++i)
    for (std::size_t j = 0; j < shown; ++j) quotients(i, j) /= std::sqrt(static_cast<double>(dimensions[i]));
  const auto scaled = trace.step({.id = "example/scaled",
                                  .title = "These scores divided by √d_k",
                                  .formula = "scores / √d_k",
                                  .from = {"example/scores", "d_k"},
                                  .axes = {"d_k", "key"},
                                  .worked =
                                      [&](const attn::Index& at) {
                                        return attn::Known{"example/scores", scores}(at) /
                                               sqrt(attn::Worked(static_cast<double>(dimensions[at[0]])));
                                      }},
                                 std::move(quotients));
  trace.step({.id = "example/weights_scaled",
              .title = "Scaled",
              .formula = "softmax(scores / √d_k)",
              .from = {"example/scaled"},
              .axes = {"d_k", "key"},
              .note = fmt::format("The order of the keys stays. The last row is divided by √{} = {:.4g}. One "
                                  "more key would add a score to each row, but √d_k would stay.",
                                  dimensions.back(), std::sqrt(static_cast<double>(dimensions.back()))),
              .distribution = true,
              .worked = attn::worked_softmax(attn::Known{"example/scaled", scaled}),
              .worked_at = best_of_last_row(scaled)},
             attn::softmax(scaled));
}

/// What softmax lets through, each [d_k].
struct Softened {
  Tensor<1> entropy_raw, entropy_scaled;
  Tensor<1> max_weight_raw, max_weight_scaled;
  Tensor<1> jacobian_raw, jacobian_scaled;
  std::vector<double> flat_raw, flat_scaled;  ///< the share of rows whose gradient is almost 0
};

/// Below it a gradient counts as almost 0.
constexpr double almost_no_gradient = 0.01;

double share_of_flat_rows(const Tensor<2>& weights) {
  std::size_t flat = 0;
  for (std::size_t i = 0; i < weights.shape(0); ++i)
    if (attn::mean_jacobian_norm<2>(attn::rows(weights, i, i + 1)) < almost_no_gradient) ++flat;
  return static_cast<double>(flat) / static_cast<double>(weights.shape(0));
}

Softened show_softmax(Workbench& bench, const std::vector<Tensor<1>>& scores) {
  const auto& dimensions = bench.options.d_k_list;
  std::vector<Tensor<2>> raw, scaled;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    raw.push_back(weights_of(scores[i], keys_per_row, 1.0));
    scaled.push_back(weights_of(scores[i], keys_per_row, std::sqrt(static_cast<double>(dimensions[i]))));
  }

  const double keys = static_cast<double>(keys_per_row);
  const auto step = [&](attn::About about, const Tensor<1>& values) {
    about.from = {"d_k", "samples"};
    about.axes = {"d_k"};
    return bench.trace.step(about, values);
  };
  Softened measured;
  measured.entropy_raw = step(
      {.id = "entropy_raw",
       .title = "How widely attention spreads without the scale",
       .formula = "mean of −Σⱼ wⱼ ln wⱼ,  w = softmax(s)",
       .note = fmt::format(
           "The entropy of a row of weights. It is ln {} = {:.4f} where all keys share equally and 0 where "
           "one key gets everything.",
           keys_per_row, std::log(keys))},
      for_each_d_k(raw, attn::mean_entropy<2>));
  measured.entropy_scaled =
      step({.id = "entropy_scaled",
            .title = "How widely attention spreads with the scale",
            .formula = "mean of −Σⱼ wⱼ ln wⱼ,  w = softmax(s / √d_k)",
            .note = "These scores have variance 1 for every d_k, so d_k hardly matters any more."},
           for_each_d_k(scaled, attn::mean_entropy<2>));
  measured.max_weight_raw =
      step({.id = "max_weight_raw",
            .title = "What the best key gets without the scale",
            .formula = "mean of maxⱼ wⱼ,  w = softmax(s)",
            .note = fmt::format("The share of the best of {} keys: 1 is one-hot, {:.4f} is an equal share.",
                                keys_per_row, 1.0 / keys)},
           for_each_d_k(raw, attn::mean_max_weight<2>));
  measured.max_weight_scaled = step({.id = "max_weight_scaled",
                                     .title = "What the best key gets with the scale",
                                     .formula = "mean of maxⱼ wⱼ,  w = softmax(s / √d_k)"},
                                    for_each_d_k(scaled, attn::mean_max_weight<2>));
  measured.jacobian_raw =
      step({.id = "jacobian_raw",
            .title = "How much gradient gets through without the scale",
            .formula = "mean of ‖diag(w) − w wᵀ‖,  w = softmax(s)",
            .note = fmt::format(
                "How much of a gradient gets through softmax (Frobenius norm): 0 where w is one-hot, {:.4f} "
                "where all keys share equally, and most, 0.5, where two keys share alone. So it may rise "
                "before it falls.",
                std::sqrt(keys - 1.0) / keys)},
           for_each_d_k(raw, attn::mean_jacobian_norm<2>));
  measured.jacobian_scaled =
      step({.id = "jacobian_scaled",
            .title = "How much gradient gets through with the scale",
            .formula = "mean of ‖diag(w) − w wᵀ‖,  w = softmax(s / √d_k)",
            .note = "By the undivided score s the derivative is √d_k smaller again: one factor for all rows, "
                    "which a larger learning rate makes up for. Nothing makes up for a 0."},
           for_each_d_k(scaled, attn::mean_jacobian_norm<2>));
  for (std::size_t i = 0; i < raw.size(); ++i) {
    measured.flat_raw.push_back(share_of_flat_rows(raw[i]));
    measured.flat_scaled.push_back(share_of_flat_rows(scaled[i]));
  }
  return measured;
}

/// The moments beside theory, a row for each d_k.
std::string table_of_moments(const std::vector<std::size_t>& dimensions, const Moments& moments,
                             double samples) {
  std::vector<std::vector<std::string>> rows = {{"d_k", "mean", "standard error", "variance", "std", "√d_k"}};
  for (std::size_t i = 0; i < dimensions.size(); ++i)
    rows.push_back(
        {fmt::format("{}", dimensions[i]), fmt::format("{:.4f}", moments.mean(i)),
         fmt::format("{:.4f}", standard_error_of_mean(static_cast<double>(dimensions[i]), samples)),
         fmt::format("{:.3f}", moments.variance(i)), fmt::format("{:.3f}", moments.std(i)),
         fmt::format("{:.3f}", std::sqrt(static_cast<double>(dimensions[i])))});
  return in_columns(rows);
}

std::string table_of_standard_errors(const std::vector<std::size_t>& dimensions, double samples) {
  std::vector<std::vector<std::string>> rows = {{"d_k", "of the mean", "of the variance"}};
  for (const auto dimension : dimensions) {
    const auto d_k = static_cast<double>(dimension);
    rows.push_back({fmt::format("{}", dimension), fmt::format("{:.4f}", standard_error_of_mean(d_k, samples)),
                    fmt::format("{:.3f}", standard_error_of_variance(d_k, samples))});
  }
  return in_columns(rows);
}

/// What softmax makes of them, without the scale (raw) and with it, a row for each d_k.
std::string table_of_softmax(const std::vector<std::size_t>& dimensions, const Softened& measured) {
  std::vector<std::vector<std::string>> rows = {
      {"d_k", "best share raw", "scaled", "gradient raw", "scaled", "almost 0 raw", "scaled"}};
  for (std::size_t i = 0; i < dimensions.size(); ++i) {
    rows.push_back({fmt::format("{}", dimensions[i])});
    for (const auto* values : {&measured.max_weight_raw, &measured.max_weight_scaled, &measured.jacobian_raw,
                               &measured.jacobian_scaled})
      rows.back().push_back(fmt::format("{:.4f}", double{(*values)(i)}));
    for (const double share : {measured.flat_raw[i], measured.flat_scaled[i]})
      rows.back().push_back(fmt::format("{:.0f} %", 100.0 * share));
  }
  return in_columns(rows);
}

void claim_moments(Workbench& bench, const Moments& moments, double samples) {
  auto& trace = bench.trace;
  const auto& dimensions = bench.options.d_k_list;
  /// What rounding to the run's format does not explain.
  const auto distance = [&](double measured, double theory) {
    const double rounding_error = attn::largest_rounding_error(trace.dtype(), measured);
    return attn::maximum({0.0, std::abs(measured - theory) - rounding_error});
  };
  double of_mean = 0.0, of_variance = 0.0;  // the largest distance from theory, in standard errors
  for (std::size_t i = 0; i < dimensions.size(); ++i) {
    const auto d_k = static_cast<double>(dimensions[i]);
    of_mean = attn::maximum({of_mean, distance(moments.mean(i), 0.0) / standard_error_of_mean(d_k, samples)});
    of_variance = attn::maximum(
        {of_variance, distance(moments.variance(i), d_k) / standard_error_of_variance(d_k, samples)});
  }
  trace.claim({.id = "mean-as-derived",
               .claim = "farthest mean from 0, in standard errors",
               .formula = "max |mean| / √(d_k / samples)",
               .value = of_mean,
               .limit = attn::at_most(beyond_chance)});
  trace.claim({.id = "variance-as-derived",
               .claim = "farthest variance from d_k, in standard errors",
               .formula = "max |variance − d_k| / √((2 d_k² + 6 d_k) / samples)",
               .value = of_variance,
               .limit = attn::at_most(beyond_chance)});
}

void claim_gradient(attn::Trace& trace, const std::vector<std::size_t>& dimensions,
                    const Softened& gradients) {
  const auto longest =
      static_cast<std::size_t>(std::max_element(dimensions.begin(), dimensions.end()) - dimensions.begin());
  trace.claim({.id = "gradient-vanishes",
               .claim = fmt::format("at d_k = {}, gradient raw divided by scaled", dimensions[longest]),
               .formula = "jacobian_raw / jacobian_scaled",
               .value = gradients.jacobian_raw(longest) / gradients.jacobian_scaled(longest),
               .limit = attn::at_most(0.5)});
}

/// Whether there are enough samples for the claims.
bool can_claim_moments(double samples) {
  return samples >= samples_for_standard_errors;
}
bool can_claim_gradient(double samples, double largest_d_k) {
  return samples >= samples_for_gradients && largest_d_k >= d_k_for_gradients;
}

void compare_with_theory(attn::Trace& trace, const std::vector<std::size_t>& dimensions,
                         const Moments& moments, const Softened& softened, double samples) {
  const auto largest_d_k = static_cast<double>(*std::max_element(dimensions.begin(), dimensions.end()));
  auto text = fmt::format(
      "Theory says mean 0, variance d_k and std √d_k. Chance puts the mean of {0} scores about one standard "
      "error, √(d_k / {0}), off (the variance: --all).",
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
  trace.note("comparison", "Measured beside theory", text, table_of_moments(dimensions, moments, samples));
  trace.note(
      "standard-errors", "By how much chance puts a measurement off",
      fmt::format("About two measurements in three are off by less than the standard error, about one "
                  "in 15000 by more than four of it (of the variance more, where d_k is small), and by "
                  "{} of it none that you will see.",
                  beyond_chance),
      table_of_standard_errors(dimensions, samples));
  const auto rows = static_cast<std::size_t>(samples) / keys_per_row;
  trace.note("softened", "What softmax makes of all these scores",
             fmt::format("The {} scores of each d_k are cut into {} of {}. Each row counts as one query's "
                         "scores, since only their size matters. The table has means over the rows. Where "
                         "the gradient is 0, training learns nothing from the row.",
                         samples, rows == 1 ? "1 row" : fmt::format("{} rows", rows), keys_per_row),
             fmt::format("best share: the largest of the {} shares; equal shares are {:.4f}\n"
                         "gradient:   the size of the table of derivatives of shares w by scores x:\n"
                         "            √(Σᵢⱼ (∂wᵢ/∂xⱼ)²),  ∂wᵢ/∂xⱼ = wᵢ (1 − wᵢ) if i = j, else −wᵢ wⱼ\n"
                         "            shares 0.5, 0.5: √(4 · 0.25²) = 0.5;  shares 1, 0: 0\n"
                         "almost 0:   the part of the rows with a gradient below {}\n\n{}",
                         keys_per_row, 1.0 / static_cast<double>(keys_per_row), almost_no_gradient,
                         table_of_softmax(dimensions, softened)));
}

std::vector<std::string> scaling_flow(const Options& options) {
  const auto samples = *options.samples;
  return {
      fmt::format("for each d_k:  q, k [{0}×d_k] → s [{0}]", samples),
      fmt::format("               rows of {} scores s ┬ softmax(s) → raw", keys_per_row),
      fmt::format("               {} └ softmax(s / √d_k) → scaled",
                  std::string(attn::display_width(fmt::format("rows of {} scores s", keys_per_row)), ' ')),
      fmt::format("steps 1 to 3:  the first {} scores of each d_k [{}×{}], as if one query's",
                  keys_of_example, options.d_k_list.size(), keys_of_example)};
}

/// The scores of each d_k, drawn as the lesson draws them.
std::vector<std::string> drawing_code(const Options& options) {
  const DrawCode code{options};
  const bool is_torch = code.library() == "PyTorch";
  const auto drawn = [&](const char* name) {
    const auto draw = code.normal(fmt::format("f\"{} d_k={{d}}\"", name), "(samples, d)");
    return is_torch ? draw + ".double().numpy()" : draw;
  };
  std::vector<std::string> lines;
  if (is_torch) lines.push_back("import torch");
  const auto begin = code.begin();
  const auto second = begin.find('\n');
  lines.push_back(begin.substr(0, second));
  if (second != begin.npos) lines.push_back(begin.substr(second + 1));
  lines.insert(lines.end(), {"scores = []", "for d in d_k:", "    q = " + drawn("q"), "    k = " + drawn("k"),
                             "    scores.append((q * k).sum(axis=1))"});
  return lines;
}

/// "4", "64", "256": the first ones where there are many.
std::vector<std::string> first_of(const std::vector<std::size_t>& dimensions) {
  constexpr std::size_t most = 3;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < std::min(dimensions.size(), most); ++i)
    names.push_back(fmt::format("{}", dimensions[i]));
  if (dimensions.size() > most) names.emplace_back("…");
  return names;
}

/// What the page shows, then what only its tables show.
void show_scaling_code(Workbench& bench) {
  bench.trace.within("earlier", [&] { bench.code(softmax_code()); });
  bench.trace.within("draw", [&] { bench.code(drawing_code(bench.options)); });
  std::vector<std::string> lines = {fmt::format("# d_k: {}; scores: {} products q · k for each (see --all)",
                                                fmt::join(first_of(bench.options.d_k_list), ", "),
                                                *bench.options.samples)};
  lines.insert(lines.end(), {"example_scores = np.array(scores)[:, :4]  # the first four of each d_k",
                             "example_weights_raw = softmax(example_scores)  # softmax(): lesson lookup",
                             "example_scaled = example_scores / np.sqrt(d_k)[:, None]  # row by row",
                             "example_weights_scaled = softmax(example_scaled)"});
  bench.code(lines);
  bench.trace.within("softened", [&] {
    bench.code({"mean, variance = np.mean(scores, axis=1), np.var(scores, axis=1)", "std = np.sqrt(variance)",
                fmt::format("whole = np.array(scores)[:, :samples // {0} * {0}]", keys_per_row),
                fmt::format("rows = whole.reshape(len(d_k), -1, {})", keys_per_row),
                "raw, scaled = softmax(rows), softmax(rows / np.sqrt(d_k)[:, None, None])", "def entropy(w):",
                "    return -(w * np.log(np.maximum(w, 1e-300))).sum(axis=-1).mean(axis=-1)",
                "def gradient(w):  # of one d_k",
                fmt::format("    jacobian = w[:, :, None] * (np.eye({}) - w[:, None, :])", keys_per_row),
                "    return np.linalg.norm(jacobian, axis=(1, 2)).mean()",
                "max_weight_raw = raw.max(axis=-1).mean(axis=-1)",
                "max_weight_scaled = scaled.max(axis=-1).mean(axis=-1)",
                "entropy_raw, entropy_scaled = entropy(raw), entropy(scaled)",
                "jacobian_raw = np.array([gradient(w) for w in raw])",
                "jacobian_scaled = np.array([gradient(w) for w in scaled])"});
  });
}

void run_scaling(Workbench& bench) {
  const auto& options = bench.options;
  require_something_to_measure(options);
  const auto samples = static_cast<double>(*options.samples);
  auto& trace = bench.trace;
  trace.page({{"idea"},
              {"flow"},
              {"code"},
              {"derivation"},
              {"comparison"},
              {"example/scores", nothing_to_notice},
              {"example/weights_raw"},
              {"example/weights_scaled"},
              {"softened"}});
  bench.idea(
      "A score is the dot product of a query q and a key k. Let all their numbers be random and independent, "
      "with mean 0 and variance 1. Then scores and their differences grow with √d_k. Softmax turns large "
      "differences into one share near 1, and training stalls. Dividing by √d_k prevents that.",
      "s = q · k = q₁k₁ + q₂k₂ + … + q_d k_d,   d = d_k");
  bench.flow(scaling_flow(options));
  show_scaling_code(bench);

  show_derivation(trace);
  show_measurement(trace, options);
  show_inputs(bench);
  std::vector<Tensor<1>> scores;
  for (const auto d_k : options.d_k_list) {
    const auto q = bench.normal<2>(fmt::format("q d_k={}", d_k), {*options.samples, d_k});
    const auto k = bench.normal<2>(fmt::format("k d_k={}", d_k), {*options.samples, d_k});
    scores.push_back(dot_products(q, k));
  }

  const auto moments = show_moments(bench, scores);
  label_dimensions(bench, "d_k=");
  show_example(bench, scores);
  label_dimensions(bench, "");
  const auto softened = show_softmax(bench, scores);
  compare_with_theory(trace, options.d_k_list, moments, softened, samples);

  if (can_claim_moments(samples)) claim_moments(bench, moments, samples);
  const auto longest = *std::max_element(options.d_k_list.begin(), options.d_k_list.end());
  if (can_claim_gradient(samples, static_cast<double>(longest)))
    claim_gradient(trace, options.d_k_list, softened);
  bench.try_next({{"scaling --d-k 1,1024", "scores 32 times as large: what gets through?"},
                  {"scaling --seed 7", "what is chance here, and what is not?"},
                  {"sdpa", "attention with this scale"}});
}

std::vector<Input> scaling_inputs(const Options&) {
  return {{"d_k", {"d_k"}, Draw::option, "d-k-list"}, {"samples", {}, Draw::option, "samples"}};
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
    .options = {"d-k-list", "samples", "seed", "rng", "draws", "dtype"},
    .takes_batches = false,
    .defaults = {.d_k_list = {4, 64, 256}, .samples = 4096},
    .examples = {"scaling --d-k 4,64,1024", "scaling --d-k 512 --samples 8192 --seed 7"},
    .inputs = scaling_inputs,
    .run = run_scaling,
};

}  // namespace lessons
