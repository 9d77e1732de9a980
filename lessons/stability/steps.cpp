#include "lessons/stability/steps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

namespace lessons {

namespace {

using attn::Dtype;

constexpr double lowest_half = -65504.0;

template <std::size_t N>
void show(Workbench& bench, attn::About about, const Tensor<N>& tensor) {
  about.axes = N == 2 ? std::vector<std::string>{"query", "key"} : std::vector<std::string>{"query"};
  bench.trace.step(about, tensor);
}

void show_naive(Workbench& bench, const attn::NaiveSoftmax& naive, Dtype precision) {
  const bool is_whole = precision == bench.trace.dtype();
  show(bench,
       {.id = "naive/exp",
        .title = "As it is written: e to the power of each score",
        .formula = "exp(scores)",
        .from = {"scores"},
        .note = fmt::format("inf above {:.2f}, 0 below {:.2f}.", attn::exp_overflows_above(precision),
                            attn::exp_vanishes_below(precision))},
       naive.exp);
  show(bench, {.id = "naive/sum", .title = "Their sum", .formula = "Σⱼ naive/exp", .from = {"naive/exp"}},
       naive.sum);
  show(bench,
       {.id = "naive/weights",
        .title = "And the shares",
        .formula = "naive/exp / naive/sum",
        .from = {"naive/exp", "naive/sum"},
        .note =
            is_whole
                ? "inf / inf is nan, and so is 0 / 0. A finite number over inf is 0 and looks like a weight."
                : "",
        .distribution = true},
       naive.weights);
}

/// The intermediates of the stable form that only the format of the run shows.
void show_exponentials(Workbench& bench, const attn::StableSoftmax& stable) {
  show(bench,
       {.id = "stable/exp",
        .title = "No exponential is above 1",
        .formula = "exp(stable/shifted)",
        .from = {"stable/shifted"},
        .note = "Small ones still become 0, as they should: beside 1 they do not count."},
       stable.exp);
  show(bench,
       {.id = "stable/sum",
        .title = "The sum lies between 1 and the number of keys",
        .formula = "Σⱼ stable/exp",
        .from = {"stable/exp"},
        .note = "Never 0, for the largest score gives 1."},
       stable.sum);
}

void show_stable(Workbench& bench, const attn::StableSoftmax& stable, Dtype precision) {
  const bool is_whole = precision == bench.trace.dtype();
  if (is_whole)
    show(bench,
         {.id = "stable/max", .title = "The largest score", .formula = "maxⱼ scores", .from = {"scores"}},
         stable.max);
  show(bench,
       {.id = "stable/shifted",
        .title = "Subtract the largest score first: nothing is above 0",
        .formula = "scores − maxⱼ scores",
        .from = {"scores"},
        .note =
            is_whole ? "That divides numerator and denominator by the same exp(max): the shares stay." : ""},
       stable.shifted);
  if (is_whole) show_exponentials(bench, stable);
  show(bench,
       {.id = "stable/weights",
        .title = "The shares, finite in every row",
        .formula = is_whole ? "stable/exp / stable/sum" : "exp(stable/shifted) / Σⱼ exp(stable/shifted)",
        .from = is_whole ? std::vector<std::string>{"stable/exp", "stable/sum"}
                         : std::vector<std::string>{"stable/shifted"},
        .note = precision == Dtype::float16
                    ? "Each share is rounded to 11 binary digits, so a row sums to 1 only roughly."
                    : "",
        .distribution = true},
       stable.weights);
}

/// Both rows hold the scores of one query; where the mask is false `hide(score)` stands instead.
template <class Hide>
Tensor<2> masked(const Tensor<1>& scores, const Mask<2>& mask, Hide hide) {
  Tensor<2> result(mask.shape());
  for (std::size_t i = 0; i < mask.shape(0); ++i)
    for (std::size_t j = 0; j < mask.shape(1); ++j)
      result(i, j) = mask(i, j) ? scores(j) : static_cast<double>(hide(static_cast<double>(scores(j))));
  return result;
}

/// Shows `group/masked` and `group/weights`, and returns the weights.
Tensor<2> show_fill(Workbench& bench, const std::string& group, attn::About about,
                       const Tensor<2>& scores, const std::string& weights_note) {
  about.id = "masked";
  about.from = {"scores", "mask"};
  const auto weights = attn::stable_softmax(scores, Dtype::float16).weights;
  bench.trace.within(group, [&] {
    show(bench, about, scores);
    show(bench,
         {.id = "weights",
          .title = "The weights",
          .formula = fmt::format("softmax({}/masked), stable form", group),
          .from = {"masked"},
          .note = weights_note,
          .distribution = true},
         weights);
  });
  return weights;
}

}  // namespace

ShownSoftmax show_softmax(Workbench& bench, const Tensor<2>& scores, Dtype precision) {
  ShownSoftmax shown{precision, attn::round_to(precision, scores), {}, {}};
  shown.naive = attn::naive_softmax(shown.scores, precision);
  shown.stable = attn::stable_softmax(shown.scores, precision);
  if (precision != bench.trace.dtype())
    show(bench,
         {.id = "scores",
          .title = fmt::format("The same scores in {}", attn::name_of(precision)),
          .formula = "scores, each rounded to the nearest number that there is",
          .from = {"scores"},
          .note = precision == Dtype::float16
                      ? "A half has 11 binary digits, 3 decimal ones: from 1024 on it counts in ones. (All "
                        "numbers in this group are exact halves; they are stored wider.)"
                      : ""},
         shown.scores);
  show_naive(bench, shown.naive, precision);
  show_stable(bench, shown.stable, precision);
  return shown;
}

void show_log_sum_exp(Workbench& bench, const ShownSoftmax& shown) {
  bench.trace.note(
      "log-sum-exp", "The logarithm of a weight",
      "A loss needs the logarithm of a weight. A weight that has become 0 has none: −∞, and a gradient of ∞. "
      "Taken straight from the scores the logarithm is an ordinary number. It needs the logarithm of the sum "
      "of exponentials, which overflows like softmax and is cured in the same way.",
      "logsumexp(x) = ln Σⱼ exp(xⱼ) = m + ln Σⱼ exp(xⱼ − m),  m = max x\n"
      "ln softmax(x)ⱼ = xⱼ − logsumexp(x)");
  show(bench,
       {.id = "logsumexp/naive",
        .title = "As it is written",
        .formula = "ln naive/sum",
        .from = {"naive/sum"}},
       shown.naive.logsumexp);
  show(bench,
       {.id = "logsumexp/stable",
        .title = "With the largest score taken out",
        .formula = "stable/max + ln stable/sum",
        .from = {"stable/max", "stable/sum"},
        .note = "A soft maximum: never below the largest score, and at most ln n above it."},
       shown.stable.logsumexp);
  show(bench,
       {.id = "logsumexp/log_of_weights",
        .title = "The logarithm of the finished weights",
        .formula = "ln stable/weights",
        .from = {"stable/weights"},
        .note = "-inf where a weight was too small to be a number."},
       shown.stable.log_of_weights);
  show(bench,
       {.id = "logsumexp/log_weights",
        .title = "The same, straight from the scores",
        .formula = "stable/shifted − ln stable/sum",
        .from = {"stable/shifted", "stable/sum"}},
       shown.stable.log_weights);
}

ShownFills show_fills(Workbench& bench, const Tensor<1>& scores) {
  const auto n = scores.size();
  ShownFills shown;
  shown.mask = xt::zeros<bool>({std::size_t{2}, n});
  std::fill_n(&shown.mask(0, 0), n - 1, true);
  bench.trace.label("query", {{{"last hidden", "all hidden"}}});
  bench.trace.step({.id = "mask",
                    .title = "Two queries: one may not see the last token, the other sees nothing",
                    .formula = "all keys but the last; no key",
                    .axes = {"query", "key"}},
                   shown.mask);
  shown.weights_1e9 =
      show_fill(bench, "fill=-1e9",
                {.title = "−10⁹, as most tutorials write it, is −inf",
                 .formula = "scores where mask, −10⁹ elsewhere, rounded"},
                masked(scores, shown.mask, [](double) { return attn::round_to(Dtype::float16, -1e9); }),
                "Right where a key is left to see. Where none is, −inf − (−inf) is nan: the very thing "
                "against which −10⁹ was chosen.");
  shown.weights_65504 = show_fill(
      bench, "fill=-65504",
      {.title = "−65504, the lowest half", .formula = "scores where mask, −65504 elsewhere"},
      masked(scores, shown.mask, [](double) { return lowest_half; }),
      "No nan. But a query that may see nothing now gives equal shares to all that it must not see.");
  shown.weights_added = show_fill(
      bench, "added",
      {.title = "−65504, added by a causal mask and again by a padding mask",
       .formula = "scores where mask, scores − 65504 − 65504 elsewhere"},
      masked(scores, shown.mask,
             [](double score) {
               const double once = attn::round_to(Dtype::float16, score + lowest_half);
               return attn::round_to(Dtype::float16, once + lowest_half);
             }),
      "Masks that are added overflow when two meet, and the nan is back. Combine masks as booleans, fill "
      "once, and guard the row that sees nothing, as this lab's softmax does: its weights are 0.");
  return shown;
}



}  // namespace lessons
