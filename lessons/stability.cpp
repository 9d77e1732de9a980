/// Softmax in numbers that have an end: where exp overflows, why subtracting the maximum cures it, what half
/// precision makes of a mask, and what the temperature does. Sources: IEEE 754-2019; Blanchard, Higham and
/// Higham 2021, "Accurately computing the log-sum-exp and softmax functions".

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <type_traits>
#include <vector>

#include "attn/ops/arithmetic.hpp"
#include "attn/ops/measure.hpp"
#include "lessons/claims.hpp"
#include "lessons/lesson.hpp"
#include "lessons/stability/steps.hpp"
#include "lessons/stability/temperature_steps.hpp"

namespace lessons {

namespace {

using attn::Dtype;

constexpr std::array sizes = {1.0, 10.0, 100.0, 1000.0};

/// The formats that are narrower than T.
std::vector<Dtype> narrower_formats() {
  if constexpr (std::is_same_v<double, double>) return {Dtype::float32, Dtype::float16};
  return {Dtype::float16};
}

void explain(attn::Trace& trace) {
  trace.note("idea", "The idea",
             "Softmax takes e to the power of each score, and every 2.3 that a score gains make that ten "
             "times as large. But the numbers of a computer end. Beyond the largest stands inf; inf / inf is "
             "nan, not a number; and nan spreads through every sum and product until the whole model is nan. "
             "It does not take much: a forgotten √d_k, weights that have grown, half precision.",
             "softmax(x)ⱼ = exp(xⱼ) / Σₖ exp(xₖ)");
  auto table =
      fmt::format("{:<9}{:>15}{:>18}{:>16}", "", "largest number", "exp is inf above", "exp is 0 below");
  for (const auto precision : {Dtype::float64, Dtype::float32, Dtype::float16})
    table += fmt::format("\n{:<9}{:>15.5g}{:>18.2f}{:>16.2f}", attn::name_of(precision),
                         attn::largest_number(precision), attn::exp_overflows_above(precision),
                         attn::exp_vanishes_below(precision));
  trace.note("limits", "Where exp ends", "In half precision (float16) a score of 12 is already too much.",
             table);
}

Tensor<2> show_scores_of_all_sizes(Workbench& bench) {
  const auto n = bench.plan.sentence.length();
  const auto drawn = bench.random.normal<1>(0.0, 1.0, {n});
  auto scores = Tensor<2>::from_shape({sizes.size(), n});
  std::vector<std::string> names;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    names.push_back(fmt::format("size {:g}", sizes[i]));
    for (std::size_t j = 0; j < n; ++j) scores(i, j) = sizes[i] * drawn(j);
  }
  bench.label({"key"}, bench.plan.sentence);
  bench.trace.label("query", {{names}});
  return bench.trace.input({.id = "scores",
                            .title = "The scores of one query, and the same ones larger",
                            .formula = "normal(0, 1) for each key, times 1, 10, 100, 1000",
                            .axes = {"query", "key"},
                            .note = "The first row is of the size that the scale 1/√d_k aims at."},
                           scores);
}

Tensor<1> first_row(const Tensor<2>& x) {
  auto row = Tensor<1>::from_shape({x.shape(1)});
  std::copy_n(x.begin(), row.size(), row.begin());
  return row;
}

void advise(attn::Trace& trace) {
  trace.note(
      "advice", "What to do",
      "Always subtract the maximum. Scale by 1/√d_k. Keep softmax, its sums and layer norm in float32 even "
      "where the rest is half. Never compile softmax with -ffast-math, which assumes that inf and nan do not "
      "exist. And beware of one line that goes round as numerically stable attention in NumPy: "
      "K.transpose(-2, -1) is PyTorch's way of swapping two axes. NumPy reads it as the new order of all "
      "axes: for a matrix K that is the old order, so nothing is transposed, and for a batch it is an error.",
      "scores = Q @ np.swapaxes(K, -2, -1) / (np.sqrt(d_k) * temperature)");
}

/// How many numbers of the stable form are not finite.
std::int64_t count_overflows(const attn::StableSoftmax& stable) {
  return attn::count_non_finite(stable.shifted) + attn::count_non_finite(stable.exp) +
         attn::count_non_finite(stable.sum) + attn::count_non_finite(stable.weights) +
         attn::count_non_finite(stable.logsumexp);
}

void claim_formats(attn::Trace& trace, const std::vector<ShownSoftmax>& formats) {
  std::int64_t overflows = 0, unforeseen = 0, no_halves = 0;
  double row_sums = 0.0;
  for (const auto& [precision, scores, naive, stable] : formats) {
    overflows += count_overflows(stable);
    unforeseen += attn::count_unforeseen(scores, naive.exp, precision);
    if (precision == trace.dtype()) row_sums = attn::row_sum_deviation(stable.weights);
    if (precision == Dtype::float16)
      for (const auto* tensor : {&scores, &naive.exp, &stable.shifted, &stable.exp, &stable.weights})
        no_halves += attn::max_abs_difference(attn::round_to(precision, *tensor), *tensor) == 0.0 ? 0 : 1;
  }
  trace.claim({.id = "stable-never-overflows",
               .claim = "the stable form never overflows, in any format",
               .formula = "number of inf and nan in stable/… and logsumexp/stable",
               .value = static_cast<double>(overflows),
               .limit = attn::exactly(0.0)});
  trace.claim({.id = "naive-overflows-as-predicted",
               .claim = "the other form overflows exactly where the table says",
               .formula = "number of scores whose naive/exp is inf below the limit or finite above",
               .value = static_cast<double>(unforeseen),
               .limit = attn::exactly(0.0)});
  trace.claim({.id = "rows-sum-to-1",
               .claim = "each row of stable/weights sums to 1",
               .formula = "max |Σⱼ stable/weights − 1|",
               .value = row_sums,
               .limit = rounding(trace)});
  trace.claim({.id = "halves-are-halves",
               .claim = "every number of float16/ is a half",
               .formula = "number of tensors that change when rounded to halves once more",
               .value = static_cast<double>(no_halves),
               .limit = attn::exactly(0.0)});
}

void claim_run(attn::Trace& trace, const ShownSoftmax& run) {
  const auto& [precision, scores, naive, stable] = run;
  trace.claim({.id = "forms-agree",
               .claim = "for scores of size 1 both forms give the same weights",
               .formula = "max |naive/weights − stable/weights|, first row",
               .value = attn::max_abs_difference(first_row(naive.weights), first_row(stable.weights)),
               .limit = rounding(trace)});
  const double magnitude = attn::max_abs(scores);
  trace.claim({.id = "logsumexp-is-a-soft-maximum",
               .claim = "log-sum-exp lies between the largest score and ln n above it",
               .formula = "max of (max x − logsumexp) and (logsumexp − max x − ln n), or 0",
               .value = attn::distance_from_soft_maximum(stable),
               .limit = rounding(trace, magnitude)});
  double difference = 0.0;
  for (std::size_t i = 0; i < scores.size(); ++i)
    difference =
        attn::maximum({difference, std::abs(std::exp(static_cast<double>(stable.log_weights.data()[i])) -
                                            static_cast<double>(stable.weights.data()[i]))});
  trace.claim({.id = "log-weights-agree",
               .claim = "e to the power of the log weights gives the weights",
               .formula = "max |exp(logsumexp/log_weights) − stable/weights|",
               .value = difference,
               .limit = rounding(trace)});
}

void claim_fills_and_temperatures(attn::Trace& trace, const ShownFills& fills, const Tensor<1>& entropy) {
  double hidden = 0.0;
  for (const auto* weights : {&fills.weights_1e9, &fills.weights_65504, &fills.weights_added})
    if (weights->shape(1) > 1)
      hidden = std::max(hidden, static_cast<double>((*weights)(0, weights->shape(1) - 1)));
  trace.claim(
      {.id = "hidden-gets-nothing",
       .claim =
           "in half precision each of the masks gives the hidden key exactly 0 where another may be seen",
       .formula = "max weight of the last key in the first row",
       .value = hidden,
       .limit = attn::exactly(0.0)});
  double fall = 0.0;
  for (std::size_t i = 1; i < entropy.size(); ++i)
    fall = std::max(fall, static_cast<double>(entropy(i - 1)) - static_cast<double>(entropy(i)));
  trace.claim({.id = "entropy-rises-with-temperature",
               .claim = "the higher the temperature, the wider attention spreads",
               .formula = "largest fall of temperature/entropy from one T to the next",
               .value = fall,
               .limit = rounding(trace, attn::max_abs(entropy))});
}

void run(Workbench& bench) {
  auto& trace = bench.trace;
  explain(trace);
  const auto scores = show_scores_of_all_sizes(bench);
  std::vector<ShownSoftmax> formats = {show_softmax(bench, scores, bench.trace.dtype())};
  show_log_sum_exp(bench, formats.front());
  for (const auto precision : narrower_formats()) {
    const std::string name(attn::name_of(precision));
    formats.push_back(trace.within(name, [&] { return show_softmax(bench, scores, precision); }));
  }
  trace.note("fills", "Hiding a key in half precision",
             "A masked score should be −∞. Much code writes −10⁹, so that a row in which everything is "
             "hidden does not become nan. Half precision ends at ±65504, and −10⁹ rounds to -inf (PyTorch "
             "refuses it with an error).");
  const auto fills =
      trace.within("float16", [&] { return show_fills(bench, first_row(formats.back().scores)); });
  trace.note("temperature", "The temperature",
             "Dividing the scores by T sets how sharply softmax decides. A T below 1 makes scores larger: "
             "without the shift it is one more way to overflow.",
             "softmax(x / T)");
  const auto entropy = show_temperatures(bench, first_row(scores));
  advise(trace);

  claim_formats(trace, formats);
  claim_run(trace, formats.front());
  claim_fills_and_temperatures(trace, fills, entropy);
}

/// Four rows of about 25 tensors, and five of the temperatures.
double element_count(const Plan& plan) {
  return 120.0 * static_cast<double>(plan.sentence.length());
}

}  // namespace

extern const Lesson stability;
const Lesson stability = {
    .name = "stability",
    .title = "softmax in finite numbers: overflow, half, temperature",
    .teaches =
        "Where exp overflows in float64, float32 and half precision, and why subtracting the largest score "
        "first cures it. The logarithm of a sum of exponentials; what −10⁹, −65504 and −∞ do as masks in "
        "half precision; and how the temperature takes attention from a single key to equal shares.",
    .options = {"sentence", "seed", "rng", "dtype"},
    .takes_batches = false,
    .defaults = {.sentence = {"The cat sat on the mat"}},
    .examples = {"stability --sentence \"The cat sat on the mat\"",
                 "stability --dtype float32 --steps float16/"},
    .element_count = element_count,
    .run = run,
};

}  // namespace lessons
