#include "lessons/workbench/claims.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "attn/ops/arithmetic.hpp"
#include "attn/ops/measure.hpp"
#include "attn/ops/rows.hpp"
#include "attn/ops/shape_mismatch.hpp"
#include "attn/ops/slice.hpp"
#include "lessons/stability.hpp"

namespace lessons {

namespace {

using attn::Dtype;

/// Whether all scores are numbers of the format and so are their differences within a row.
bool can_be_shifted(const BothForms& forms) {
  const auto lowest = attn::row_max(attn::divide(forms.scores, -1.0)), highest = attn::row_max(forms.scores);
  return attn::count_non_finite(forms.scores) == 0 &&
         attn::max_abs(attn::add(lowest, highest)) <= attn::largest_number(forms.format);
}

/// How many numbers of the stable form are not finite.
std::int64_t count_overflows(const BothForms& forms) {
  const auto& [max, shifted, exp, sum, weights] = forms.stable;
  return attn::count_non_finite(shifted) + attn::count_non_finite(exp) + attn::count_non_finite(sum) +
         attn::count_non_finite(weights) + attn::count_non_finite(forms.logsumexp.stable);
}

void claim_overflows(attn::Trace& trace, const std::vector<BothForms>& formats) {
  std::int64_t overflows = 0, unforeseen = 0;
  std::vector<std::string_view> beyond;
  for (const auto& forms : formats) {
    if (can_be_shifted(forms))
      overflows += count_overflows(forms);
    else
      beyond.push_back(attn::name_of(forms.format));
    unforeseen += count_unforeseen(forms.scores, forms.naive.exp, forms.format);
  }
  if (!beyond.empty())
    trace.note("scores-beyond-format", "Scores that the format does not hold",
               fmt::format("Some of these scores, or their differences, are beyond the largest number of {}. "
                           "Subtracting the maximum comes too late there, and nothing is claimed about it: "
                           "subtract before the scores are rounded.",
                           fmt::join(beyond, " and ")));
  if (beyond.size() < formats.size())
    trace.claim({.id = "stable-never-overflows",
                 .claim = beyond.empty()
                              ? "the stable form never overflows, in any format"
                              : "the stable form never overflows where the format holds the scores",
                 .formula = "number of inf and nan in stable/… and logsumexp/stable",
                 .value = static_cast<double>(overflows),
                 .limit = attn::exactly(0.0)});
  trace.claim({.id = "naive-overflows-as-predicted",
               .claim = "naive overflows exactly above the limits of the table",
               .formula = "number of scores whose naive/exp is inf below the limit or finite above",
               .value = static_cast<double>(unforeseen),
               .limit = attn::exactly(0.0)});
}

void claim_rows_sum_to_1(attn::Trace& trace, const BothForms& of_run) {
  trace.claim({.id = "rows-sum-to-1",
               .claim = "each row of stable/weights sums to 1",
               .formula = "max |Σⱼ stable/weights − 1|",
               .value = attn::row_sum_deviation(of_run.stable.weights),
               .limit = rounding(trace)});
}

void claim_halves(attn::Trace& trace, const BothForms& halves) {
  const auto is_half_or_nan = [](double x) {
    return std::isnan(x) || attn::round_to(Dtype::float16, x) == x;
  };
  std::int64_t others = 0;
  for (const auto* tensor : {&halves.scores, &halves.naive.exp, &halves.stable.shifted, &halves.stable.exp,
                             &halves.stable.weights})
    others += std::all_of(tensor->begin(), tensor->end(), is_half_or_nan) ? 0 : 1;
  trace.claim({.id = "halves-are-halves",
               .claim = "every number of float16/ is a half",
               .formula = "number of tensors that change when rounded to halves once more",
               .value = static_cast<double>(others),
               .limit = attn::exactly(0.0)});
}

/// Both forms can be compared where no exponential of the first row is infinite and their sum does not
/// vanish.
void claim_forms_agree(attn::Trace& trace, const BothForms& of_run) {
  const auto largest = attn::row_max(of_run.scores)(0);
  const auto range = attn::exp_overflows_above(of_run.format);
  const auto room_for_sum = std::log(static_cast<double>(of_run.scores.shape(1)));
  if (!(largest >= -range && largest <= range - room_for_sum)) {
    trace.note("forms-not-compared", "The two forms are not compared",
               fmt::format("The largest score of the first row is {:g}. In {} the naive form overflows or "
                           "vanishes there, so there is nothing to compare the stable form with.",
                           largest, attn::name_of(of_run.format)));
    return;
  }
  trace.claim({.id = "forms-agree",
               .claim = "for scores of size 1 both forms give the same weights",
               .formula = "max |naive/weights − stable/weights|, first row",
               .value = attn::max_abs_difference(attn::row(of_run.naive.weights, 0),
                                                 attn::row(of_run.stable.weights, 0)),
               .limit = rounding(trace)});
}

void claim_logarithms(attn::Trace& trace, const BothForms& of_run) {
  const auto& [format, scores, naive, stable, logsumexp] = of_run;
  trace.claim({.id = "logsumexp-is-a-soft-maximum",
               .claim = "log-sum-exp lies between the largest score and ln n above it",
               .formula = "max of (max x − logsumexp) and (logsumexp − max x − ln n), or 0",
               .value = distance_from_soft_maximum(logsumexp.stable, stable.max, scores.shape(1)),
               .limit = rounding(trace, attn::max_abs(scores))});
  trace.claim({.id = "log-weights-agree",
               .claim = "e to the power of the log weights gives the weights",
               .formula = "max |exp(logsumexp/log_weights) − stable/weights|",
               .value = attn::max_abs_difference(attn::exp(logsumexp.log_weights), stable.weights),
               .limit = rounding(trace)});
}

/// A fill hides a key beside a score that is clearly larger than the fill.
void claim_fills(attn::Trace& trace, const Fills& fills) {
  const auto keys = fills.scores.size();
  const auto lowest = -attn::largest_number(Dtype::float16) / 2.0;
  const bool sees_a_key = keys > 1;
  const bool is_far_above =
      !sees_a_key || *std::max_element(fills.scores.begin(), fills.scores.end() - 1) >= lowest;
  if (attn::count_non_finite(fills.scores) > 0 || !is_far_above) {
    trace.note(
        "fills-not-claimed", "No claim about the hidden key",
        "The first row of scores is near the end of half precision or beyond it, where no fill is surely "
        "below them. Nothing is claimed about the hidden key.");
    return;
  }
  trace.claim(
      {.id = "hidden-gets-nothing",
       .claim =
           "in half precision each of the masks gives the hidden key exactly 0 where another may be seen",
       .formula = "max weight of the last key in the first row",
       .value = sees_a_key ? attn::maximum({fills.weights_1e9(0, keys - 1), fills.weights_65504(0, keys - 1),
                                            fills.weights_added(0, keys - 1)})
                           : 0.0,
       .limit = attn::exactly(0.0)});
}

void claim_temperatures(attn::Trace& trace, const Tensor<1>& entropy) {
  double fall = 0.0;
  for (std::size_t i = 1; i < entropy.size(); ++i) fall = attn::maximum({fall, entropy(i - 1) - entropy(i)});
  trace.claim({.id = "entropy-rises-with-temperature",
               .claim = "a higher temperature never spreads attention less",
               .formula = "largest fall of temperature/entropy from one T to the next",
               .value = fall,
               .limit = rounding(trace, attn::max_abs(entropy))});
}

}  // namespace

double distance_from_soft_maximum(const Tensor<1>& logsumexp, const Tensor<1>& max, std::size_t keys) {
  const double log_n = std::log(static_cast<double>(keys));
  double outside = 0.0;
  for (std::size_t i = 0; i < max.size(); ++i) {
    const double above = logsumexp(i) - max(i);
    outside = attn::maximum({outside, -above, above - log_n});
  }
  return outside;
}

std::int64_t count_unforeseen(const Tensor<2>& scores, const Tensor<2>& exponentials, Dtype format) {
  if (scores.shape() != exponentials.shape())
    throw attn::shape_mismatch("count_unforeseen", "scores", scores, "exponentials", exponentials,
                               "the shapes must be equal");
  const double threshold = attn::exp_overflows_above(format);
  std::int64_t count = 0;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const bool is_foreseen = scores.data()[i] > threshold;
    if (is_foreseen != std::isinf(exponentials.data()[i])) ++count;
  }
  return count;
}

void claim_stability(Workbench& bench, const std::vector<BothForms>& formats,
                     const std::optional<Fills>& fills, const Tensor<1>& entropy) {
  auto& trace = bench.trace;
  const auto &of_run = formats.front(), &narrowest = formats.back();
  const bool holds_scores = can_be_shifted(of_run);
  claim_overflows(trace, formats);
  if (holds_scores) claim_rows_sum_to_1(trace, of_run);
  if (formats.size() > 1) claim_halves(trace, narrowest);
  claim_forms_agree(trace, of_run);
  if (holds_scores) claim_logarithms(trace, of_run);
  if (fills) claim_fills(trace, *fills);
  claim_temperatures(trace, entropy);
}

}  // namespace lessons
