/// What the numbers that programs write for −∞ do as masks in half precision.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "lessons/stability.hpp"

namespace lessons {

namespace {

using attn::Dtype;

constexpr double lowest_half = -65504.0;

/// Both rows hold the scores of one query; where the mask is false `hide(score)` stands instead.
template <class Hide>
Tensor<2> masked(const Tensor<1>& scores, const Mask<2>& mask, Hide hide) {
  Tensor<2> result(mask.shape());
  for (std::size_t i = 0; i < mask.shape(0); ++i)
    for (std::size_t j = 0; j < mask.shape(1); ++j) result(i, j) = mask(i, j) ? scores(j) : hide(scores(j));
  return result;
}

/// Shows `group/masked` and `group/weights`, and returns the weights.
Tensor<2> show_fill(Workbench& bench, const std::string& group, attn::About about, const Mask<2>& mask,
                    const Tensor<2>& filled, const std::string& weights_note) {
  about.id = "masked";
  about.from = {"scores", "mask"};
  about.axes = {"query", "key"};
  about.worked = [&](const attn::Index& at) {
    const double value = filled(at[0], at[1]);
    return mask(at[0], at[1]) ? attn::Worked({"scores", {0, at[1]}}, value) : attn::Worked(value);
  };
  return bench.trace.within(group, [&] {
    const auto masked_scores = bench.trace.step(about, filled);
    auto mute = bench.mute();
    return bench.trace.step({.id = "weights",
                             .title = fmt::format("The weights of the group {}", group),
                             .formula = fmt::format("softmax({}/masked), stable form", group),
                             .from = {"masked"},
                             .axes = {"query", "key"},
                             .note = weights_note,
                             .distribution = true},
                            stable_softmax(mute, masked_scores, Dtype::float16).weights);
  });
}

}  // namespace

Fills show_fills(Workbench& bench, const Tensor<1>& scores) {
  const auto n = scores.size();
  Mask<2> mask = xt::zeros<bool>({std::size_t{2}, n});
  std::fill_n(mask.begin(), n - 1, true);
  bench.trace.label("query", {{{"last hidden", "all hidden"}}});
  mask = bench.trace.step(
      {.id = "mask",
       .title = "Two queries: one may not see the last token, the other sees nothing",
       .formula = "all keys but the last; no key",
       .axes = {"query", "key"},
       .worked =
           [last = static_cast<double>(n - 1)](const attn::Index& at) {
             return attn::Worked::product({attn::Worked::less(static_cast<double>(at[0]), 1.0),
                                           attn::Worked::less(static_cast<double>(at[1]), last)});
           }},
      mask);
  Fills shown;
  shown.scores = scores;
  shown.weights_1e9 =
      show_fill(bench, "fill=-1e9",
                {.title = "The fill −10⁹, as most tutorials have it, becomes −inf",
                 .formula = "scores where mask, −10⁹ elsewhere, rounded"},
                mask, masked(scores, mask, [](double) { return attn::round_to(Dtype::float16, -1e9); }),
                "Right where a key is left to see. Where none is, −inf − (−inf) is nan: the very thing "
                "against which −10⁹ was chosen.");
  shown.weights_65504 = show_fill(
      bench, "fill=-65504",
      {.title = "The fill −65504, the lowest number of half precision",
       .formula = "scores where mask, −65504 elsewhere"},
      mask, masked(scores, mask, [](double) { return lowest_half; }),
      "No nan. But a query that may see nothing now gives equal shares to all that it must not see.");
  shown.weights_added = show_fill(
      bench, "added",
      {.title = "The fill −65504, added by a causal mask and again by a padding mask",
       .formula = "scores where mask, scores − 65504 − 65504 elsewhere"},
      mask,
      masked(scores, mask,
             [](double score) {
               const double once = attn::round_to(Dtype::float16, score + lowest_half);
               return attn::round_to(Dtype::float16, once + lowest_half);
             }),
      "Masks that are added overflow when two meet, and the nan is back. Combine masks as booleans, fill "
      "once, and guard the row that sees nothing, as this lab's softmax does: its weights are 0.");
  return shown;
}

std::string weights_under(const Fills& fills) {
  static constexpr char columns[] = "{:<20}{:>11}{:>12}   {}";
  const auto number = [](double x) {
    return std::isnan(x) ? "nan" : x == 0.0 ? "0" : fmt::format("{:.4f}", x);
  };
  const auto line = [&](const std::string& fill, const Tensor<2>& weights, const std::string& remark) {
    return '\n' + fmt::format(columns, fill, number(weights(0, weights.shape(1) - 1)), number(weights(1, 0)),
                              remark);
  };
  return fmt::format(columns, "score", "one hidden", "all hidden", "why") +
         line("−10⁹", fills.weights_1e9, "−∞ in half precision") +
         line("−65504", fills.weights_65504, "equal scores, equal shares") +
         line("−65504 added twice", fills.weights_added, "2 masks add −65504 each: −∞");
}

}  // namespace lessons
