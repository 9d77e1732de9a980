/// Softmax in numbers that have an end: where exp overflows, why subtracting the maximum cures it, what half
/// precision makes of a mask, and what the temperature does. Sources: IEEE 754-2019; Blanchard, Higham and
/// Higham 2021, "Accurately computing the log-sum-exp and softmax functions".

#include "lessons/stability.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "attn/ops/arithmetic.hpp"
#include "attn/ops/measure.hpp"
#include "attn/ops/rows.hpp"
#include "attn/ops/slice.hpp"
#include "attn/text/width.hpp"
#include "lessons/lesson.hpp"
#include "lessons/workbench/notice.hpp"

namespace lessons {

namespace {

using attn::Dtype;

constexpr std::array sizes = {1.0, 10.0, 100.0, 1000.0};

std::string name_of_size(std::size_t row) {
  return fmt::format("size {:g}", sizes[row]);
}

/// The formats of the lesson that hold no number which the run's format does not hold.
std::vector<Dtype> narrower_formats(Dtype dtype) {
  if (dtype == Dtype::float64) return {Dtype::float32, Dtype::float16};
  if (dtype == Dtype::float32) return {Dtype::float16};
  return {};
}

/// Those of the table, and bfloat16 where the run has it.
std::vector<Dtype> formats_to_compare(Dtype dtype) {
  if (dtype == Dtype::bfloat16) return {Dtype::float64, Dtype::float32, Dtype::float16, Dtype::bfloat16};
  return {Dtype::float64, Dtype::float32, Dtype::float16};
}

/// What the tensors of the page are computed in.
std::string words_on_formats(Dtype dtype) {
  if (narrower_formats(dtype).empty()) return fmt::format("This run computes in {}.", attn::name_of(dtype));
  return fmt::format("This run computes in {}; float16/… is the same with every result rounded to float16.",
                     attn::name_of(dtype));
}

void explain_overflow(Workbench& bench) {
  bench.idea(
      "Softmax takes e to the power of each score. The numbers of a computer have an end, and a larger "
      "result becomes inf. Then softmax computes inf / inf, which is nan: not a number. All that is computed "
      "from a nan is nan.",
      "softmax(x)ⱼ = exp(xⱼ) / Σₖ exp(xₖ)");
  bench.trace.note("cure", "The cure: subtract the largest score",
                   "Large scores do the harm, so subtract the largest score m of the row from all. Each "
                   "exponential is then divided by exp(m), and so is their sum: the shares stay the same. No "
                   "exponential is above 1, and the sum is at least 1.",
                   "softmax(x)ⱼ = exp(xⱼ − m) / Σₖ exp(xₖ − m)      m = max x");
  const auto dtype = bench.trace.dtype();
  auto table =
      fmt::format("{:<9}{:>15}{:>18}{:>16}", "", "largest number", "exp is inf above", "exp is 0 below");
  for (const auto format : formats_to_compare(dtype))
    table +=
        fmt::format("\n{:<9}{:>15.5g}{:>18.2f}{:>16.2f}", attn::name_of(format), attn::largest_number(format),
                    attn::exp_overflows_above(format), attn::exp_vanishes_below(format));
  bench.trace.note("limits", "Half precision needs the cure most",
                   "Half precision (float16) takes a quarter of the memory of float64, so models use it "
                   "often. But exp(12) is too large for it already. " +
                       words_on_formats(dtype),
                   table);
}

std::vector<std::string> stability_flow(const Workbench& bench) {
  const auto scores = fmt::format("scores [{}×{}] ", sizes.size(), bench.plan.sentence.length());
  return {scores + "┬ naive:          exp → sum → exp / sum   inf / inf = nan",
          std::string(attn::display_width(scores), ' ') +
              "└ stable: − max → exp → sum → exp / sum   exp ≤ 1, sum ≥ 1"};
}

/// NumPy has no bfloat16; float32 has its range.
std::vector<std::string> stability_code(attn::Dtype dtype) {
  std::vector<std::string> lines;
  if (dtype != Dtype::float64)
    lines.push_back(
        fmt::format("scores = scores.astype(np.{})", dtype == Dtype::float16 ? "float16" : "float32"));
  const std::vector<std::string> both_forms = {"naive_exp     = np.exp(scores)",
                                               "naive_sum     = naive_exp.sum(axis=1)",
                                               "naive_weights = naive_exp / naive_sum[:, None]",
                                               "",
                                               "stable_max     = scores.max(axis=1)",
                                               "stable_shifted = scores - stable_max[:, None]",
                                               "stable_exp     = np.exp(stable_shifted)",
                                               "stable_sum     = stable_exp.sum(axis=1)",
                                               "stable_weights = stable_exp / stable_sum[:, None]"};
  lines.insert(lines.end(), both_forms.begin(), both_forms.end());
  return lines;
}

/// The same in halves, each number rounded, for a run that is wider.
std::vector<std::string> code_of_halves() {
  return {"def half(x):    # rounds each number to half precision",
          "    return x.astype(np.float16).astype(float)",
          "half_scores = half(scores)",
          "float16_naive_exp = half(np.exp(half_scores))",
          "half_sum = half(float16_naive_exp.sum(axis=1))",
          "float16_naive_weights = half(float16_naive_exp / half_sum[:, None])",
          "half_shifted = half(half_scores - half_scores.max(axis=1)[:, None])",
          "half_exp = half(np.exp(half_shifted))",
          "half_sum = half(half_exp.sum(axis=1))",
          "float16_stable_weights = half(half_exp / half_sum[:, None])"};
}

void show_stability_code(Workbench& bench) {
  bench.code(stability_code(bench.trace.dtype()));
  if (!narrower_formats(bench.trace.dtype()).empty())
    bench.trace.within("halves", [&] { bench.code(code_of_halves()); });
  bench.trace.within("temperature", [&] {
    bench.code({"T      = np.array([[0.01], [0.1], [1], [10], [100]])",
                "shares = np.exp((scores[0] - scores[0].max()) / T)",
                "temperature_weights = shares / shares.sum(axis=1, keepdims=True)"});
  });
}

Tensor<2> show_scores_of_all_sizes(Workbench& bench) {
  const auto n = bench.plan.sentence.length();
  const auto drawn = bench.normal<1>("scores", {n}, {.axis = 0});
  auto scores = Tensor<2>::from_shape({sizes.size(), n});
  std::vector<std::string> names;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    names.push_back(name_of_size(i));
    for (std::size_t j = 0; j < n; ++j) scores(i, j) = sizes[i] * drawn(j);
  }
  bench.label({"key"}, bench.plan.sentence);
  bench.trace.label("query", {{names}});
  return bench.trace.input({.id = "scores",
                            .title = "One query's scores, and the same larger",
                            .formula = "normal(0, 1) for each key, times 1, 10, 100, 1000",
                            .axes = {"query", "key"},
                            .note = "Each row is the same query: its scores times 1, 10, 100 and 1000."},
                           scores);
}

/// Steps in a format. One that is narrower than the run's shows its main steps only.
struct StepsIn {
  Workbench& bench;
  Dtype format;

  std::string named(const std::string& title) const {
    return is_of_run() ? title : fmt::format("{} ({})", title, attn::name_of(format));
  }

  bool is_of_run() const { return format == bench.trace.dtype(); }

  template <std::size_t N>
  Tensor<N> main_step(attn::About about, const Tensor<N>& exact) const {
    if (!is_of_run()) about.worked = {};  // rounding to this format is no part of it
    about.axes = N == 2 ? std::vector<std::string>{"query", "key"} : std::vector<std::string>{"query"};
    return bench.trace.step(about, attn::round_to(format, exact));
  }

  template <std::size_t N>
  Tensor<N> step(const attn::About& about, const Tensor<N>& exact) const {
    return is_of_run() ? main_step(about, exact) : attn::round_to(format, exact);
  }
};

/// Where the first row has its largest score.
attn::Index largest_of_first(const Tensor<2>& scores) {
  const auto* row = &scores(0, 0);
  return {0, attn::argmax(row, scores.shape(1))};
}

/// A place in the first row that has not its largest score, where there is one.
attn::Index another_of_first(const Tensor<2>& scores) {
  const auto largest = largest_of_first(scores);
  return {0, largest[1] == 0 && scores.shape(1) > 1 ? std::size_t{1} : std::size_t{0}};
}

/// "1.3101 / 1.9843 ≈ 0.6602 in the first row", and what became of the rows that have a nan.
std::string note_of_naive_weights(const Tensor<2>& exp, const Tensor<1>& sum, const Tensor<2>& weights,
                                  Dtype format) {
  std::vector<std::string> overflowing, vanished;
  for (std::size_t i = 0; i < sum.size(); ++i) {
    if (std::isinf(sum(i))) overflowing.push_back(name_of_size(i));
    if (sum(i) == 0.0) vanished.push_back(name_of_size(i));
  }
  const auto at = largest_of_first(exp);
  std::string note = std::isfinite(weights(0, at[1]))
                         ? fmt::format("Row {}: the sum is {:.4f}, and {:.4f} / {:.4f} ≈ {:.4f}{}.",
                                       name_of_size(0), sum(0), exp(0, at[1]), sum(0), weights(0, at[1]),
                                       format == Dtype::float16 ? ", each rounded to 11 binary digits" : "")
                         : "";
  if (!overflowing.empty())
    note += fmt::format(" In {} the sum is inf. Then inf / inf is nan, and any other number over inf is 0.",
                        fmt::join(overflowing, " and "));
  if (!vanished.empty())
    note += fmt::format(" In {} the sum is 0, and 0 / 0 is nan.", fmt::join(vanished, " and "));
  return note;
}

/// " The same scores in float64 give no inf: 270 is not above 709.78."
std::string naive_in_run(const Tensor<2>& scores, Dtype format) {
  const double largest = *std::max_element(scores.begin(), scores.end());
  const double limit = attn::exp_overflows_above(format);
  return fmt::format(" The same scores in {} give {}: {:.0f} is {} {:.2f}.", attn::name_of(format),
                     largest > limit ? "inf, too" : "no inf", largest,
                     largest > limit ? "above" : "not above", limit);
}

}  // namespace

NaiveSoftmax naive_softmax(Workbench& bench, const Tensor<2>& scores, Dtype format) {
  const StepsIn in{bench, format};
  const auto exp = in.main_step(
      {.id = "naive/exp",
       .title = in.named("Naive: e to the power of each score"),
       .formula = "exp(scores)",
       .from = {"scores"},
       .note = fmt::format(
           "A score above {:.2f} gives inf, and one below {:.2f} gives 0.{}",
           attn::exp_overflows_above(format), attn::exp_vanishes_below(format),
           format == Dtype::float16
               ? " Each is rounded to 11 binary digits; 0.0000 is 0 or nearly 0. In shares · is exactly 0."
               : ""),
       .worked = attn::worked_exp(attn::Known{"scores", scores}),
       .worked_at = largest_of_first(scores)},
      attn::exp(scores));

  const auto sum = in.main_step({.id = "naive/sum",
                                 .title = "Naive: the sum of the exponentials",
                                 .formula = "Σⱼ naive/exp",
                                 .from = {"naive/exp"},
                                 .worked = attn::worked_row_sums({"naive/exp", exp})},
                                attn::row_sums(exp));

  const bool overflows = std::any_of(sum.begin(), sum.end(), [](double x) { return std::isinf(x); });
  const auto weights = in.main_step(
      {.id = "naive/weights",
       .title = in.named("Naive: each exponential over the sum"),
       .formula = "naive/exp / naive/sum",
       .from = {"naive/exp", "naive/sum"},
       .note = note_of_naive_weights(exp, sum, attn::round_to(format, attn::divide_rows(exp, sum)), format) +
               (overflows && !in.is_of_run() ? naive_in_run(scores, bench.trace.dtype()) : ""),
       .distribution = true,
       .worked = attn::worked_divide_rows({"naive/exp", exp}, {"naive/sum", sum}),
       .worked_at = largest_of_first(scores)},
      attn::divide_rows(exp, sum));
  return {exp, sum, weights};
}

StableSoftmax stable_softmax(Workbench& bench, const Tensor<2>& scores, Dtype format) {
  const StepsIn in{bench, format};
  const auto max = in.step({.id = "stable/max",
                            .title = "Stable: the largest score of each row",
                            .formula = "maxⱼ scores",
                            .from = {"scores"},
                            .worked = attn::worked_row_max({"scores", scores})},
                           attn::row_max(scores));

  const auto shifted =
      in.main_step({.id = "stable/shifted",
                    .title = "Stable: the largest score subtracted",
                    .formula = "scores − maxⱼ scores",
                    .from = in.is_of_run() ? std::vector<std::string>{"scores", "stable/max"}
                                           : std::vector<std::string>{"scores"},
                    .note = in.is_of_run() ? "Now no score is above 0. It divides numerator and denominator "
                                             "by the same exp(max): the shares stay."
                                           : "",
                    .worked = attn::worked_subtract_from_rows({"scores", scores}, {"stable/max", max}),
                    .worked_at = another_of_first(scores)},
                   attn::subtract_from_rows(scores, max));

  const auto exp = in.step(
      {.id = "stable/exp",
       .title = "Stable: no exponential is above 1",
       .formula = "exp(stable/shifted)",
       .from = {"stable/shifted"},
       .note = "Exponentials of much smaller scores are about 0: beside 1 they do not count. One more word "
               "adds a column, and its share is taken from the others.",
       .worked = attn::worked_exp(attn::Known{"stable/shifted", shifted}),
       .worked_at = another_of_first(scores)},
      attn::exp(shifted));

  const auto sum = in.step({.id = "stable/sum",
                            .title = "Stable: a sum from 1 to the number of keys",
                            .formula = "Σⱼ stable/exp",
                            .from = {"stable/exp"},
                            .note = "Never 0, for the largest score gives 1.",
                            .worked = attn::worked_row_sums({"stable/exp", exp})},
                           attn::row_sums(exp));

  const auto weights = in.main_step(
      {.id = "stable/weights",
       .title = in.named("Stable: the shares, finite in every row"),
       .formula = in.is_of_run() ? "stable/exp / stable/sum" : "exp(stable/shifted) / Σⱼ exp(stable/shifted)",
       .from = in.is_of_run() ? std::vector<std::string>{"stable/exp", "stable/sum"}
                              : std::vector<std::string>{"stable/shifted"},
       .note = format == Dtype::float16
                   ? "Each share is rounded to 11 binary digits, so a row sums to 1 only roughly."
                   : "",
       .distribution = true,
       .worked = attn::worked_divide_rows({"stable/exp", exp}, {"stable/sum", sum}),
       .worked_at = another_of_first(scores)},
      attn::divide_rows(exp, sum));
  return {max, shifted, exp, sum, weights};
}

LogSumExp log_sum_exp(Workbench& bench, const NaiveSoftmax& naive, const StableSoftmax& stable,
                      Dtype format) {
  const StepsIn in{bench, format};
  const auto naive_logsumexp =
      in.step({.id = "logsumexp/naive",
               .title = "Log-sum-exp as the formula has it",
               .formula = "ln naive/sum",
               .from = {"naive/sum"},
               .worked = attn::worked_log(attn::Known{std::string("naive/sum"), naive.sum})},
              attn::log(naive.sum));

  const auto log_of_sum = attn::round_to(format, attn::log(stable.sum));
  const auto stable_logsumexp =
      in.step({.id = "logsumexp/stable",
               .title = "Log-sum-exp with the largest score subtracted first",
               .formula = "stable/max + ln stable/sum",
               .from = {"stable/max", "stable/sum"},
               .note = "A soft maximum: never below the largest score, and at most ln n above it.",
               .worked =
                   [&](const attn::Index& at) {
                     return attn::Worked::sum({attn::Known{std::string("stable/max"), stable.max}(at),
                                               log(attn::Known{std::string("stable/sum"), stable.sum}(at))});
                   }},
              attn::add(stable.max, log_of_sum));

  const auto log_of_weights =
      in.step({.id = "logsumexp/log_of_weights",
               .title = "The logarithm of the weights, taken from the weights",
               .formula = "ln stable/weights",
               .from = {"stable/weights"},
               .note = "-inf where a weight was too small to be a number.",
               .worked = attn::worked_log(attn::Known{std::string("stable/weights"), stable.weights})},
              attn::log(stable.weights));

  const auto log_weights =
      in.step({.id = "logsumexp/log_weights",
               .title = "The logarithm of the weights, taken from the scores",
               .formula = "stable/shifted − ln stable/sum",
               .from = {"stable/shifted", "stable/sum"},
               .worked =
                   [&](const attn::Index& at) {
                     return attn::Known{std::string("stable/shifted"), stable.shifted}(at)-log(
                         attn::Known{std::string("stable/sum"), stable.sum}({at[0]}));
                   }},
              attn::subtract_from_rows(stable.shifted, log_of_sum));
  return {naive_logsumexp, stable_logsumexp, log_of_weights, log_weights};
}

namespace {

/// Both forms in the format of the run, with the logarithms.
BothForms show_own_format(Workbench& bench, const Tensor<2>& scores) {
  const auto format = bench.trace.dtype();
  const auto naive = naive_softmax(bench, scores, format);
  const auto stable = stable_softmax(bench, scores, format);
  bench.trace.note(
      "log-sum-exp", "The logarithm of a weight",
      "A loss needs the logarithm of a weight. A weight that has become 0 has none: −∞, and a gradient of ∞. "
      "Taken straight from the scores the logarithm is an ordinary number. It needs the logarithm of the sum "
      "of exponentials, which overflows like softmax and is cured in the same way.",
      "logsumexp(x) = ln Σⱼ exp(xⱼ) = m + ln Σⱼ exp(xⱼ − m),  m = max x\n"
      "ln softmax(x)ⱼ = xⱼ − logsumexp(x)");
  return {format, scores, naive, stable, log_sum_exp(bench, naive, stable, format)};
}

/// Both forms in a narrower one, in a group of its own.
BothForms show_narrower_format(Workbench& bench, const Tensor<2>& scores_of_run, Dtype format) {
  const std::string name(attn::name_of(format));
  return bench.trace.within(name, [&] {
    const auto scores = StepsIn{bench, format}.main_step(
        {.id = "scores",
         .title = fmt::format("The scores in {}", name),
         .formula = "scores, each rounded to the nearest number that there is",
         .from = {"scores"},
         .note = format == Dtype::float16
                     ? "A half has 11 binary digits, 3 decimal ones: from 1024 on it counts in ones. (All "
                       "numbers in this group are exact halves; they are stored wider.)"
                     : ""},
        scores_of_run);
    const auto naive = naive_softmax(bench, scores, format);
    const auto stable = stable_softmax(bench, scores, format);
    auto mute = bench.mute();
    return BothForms{format, scores, naive, stable, log_sum_exp(mute, naive, stable, format)};
  });
}

/// Only a run whose format holds all halves can show them.
std::optional<Fills> show_fills_in_halves(Workbench& bench, const BothForms& narrowest) {
  const std::string text =
      "A mask hides a key by the score −∞ (lesson masking). But if all keys of a row are hidden, the row "
      "becomes nan. So much code writes −10⁹. Half precision ends at −65504: there −10⁹ is −∞ again.";
  if (narrowest.format != Dtype::float16) {
    bench.trace.note("fills", "Hiding a key in half precision", text);
    bench.trace.note("no-halves", "Not in this run",
                     "The steps of this run are rounded to bfloat16, which has the range of float32 but "
                     "fewer digits than a half, so halves cannot be shown in it. −10⁹ is a number there. See "
                     "the same with --dtype float64.");
    return std::nullopt;
  }
  auto fills =
      bench.trace.within("float16", [&] { return show_fills(bench, attn::row(narrowest.scores, 0)); });
  bench.trace.note(
      "fills", "Hiding a key in half precision",
      text + " What a hidden key gets if one key of its row is hidden, or all:", weights_under(fills));
  return fills;
}

/// What the naive and the stable form make of the largest score of each row.
void show_both_forms(Workbench& bench, const BothForms& narrowest) {
  static constexpr char columns[] = "{:<11}{:>10}{:>12}{:>14}{:>12}{:>15}";
  const auto number = [](double x) { return std::isnan(x) ? "nan" : fmt::format("{:.4f}", x); };
  const auto& [format, scores, naive, stable, logsumexp] = narrowest;
  auto table = fmt::format(columns, "", "score x", "exp(x)", "naive weight", "exp(x − m)", "stable weight");
  for (std::size_t i = 0; i < scores.shape(0); ++i) {
    const auto* row = &scores(i, 0);
    const auto j = attn::argmax(row, scores.shape(1));
    table += '\n' + fmt::format(columns, name_of_size(i), number(scores(i, j)),
                                fmt::format("{:.4g}", naive.exp(i, j)), number(naive.weights(i, j)),
                                number(stable.exp(i, j)), number(stable.weights(i, j)));
  }
  bench.trace.note(
      "both-forms", fmt::format("The largest score of each row, both ways, in {}", attn::name_of(format)),
      fmt::format("x is the largest score of its row, rounded to {}, so x − m is 0.", attn::name_of(format)),
      table);
}

void advise_on_softmax(attn::Trace& trace) {
  trace.note("advice", "What to do", "",
             "subtract   the largest score of the row, always\n"
             "scale      by 1/√d_k, so that scores stay small\n"
             "sum        in float32: half precision keeps only 3 digits of a sum\n"
             "compile    C and C++ without -ffast-math: it assumes no inf and no nan");
}

std::string note_of_temperatures(const attn::Event& weights) {
  const auto keys = weights.tensor->shape[1];
  return fmt::format(
      "The smaller T, the more goes to the largest score. The larger T, the nearer come all shares to 1 / {} "
      "= {:.4f}.",
      keys, 1.0 / static_cast<double>(keys));
}

void lay_out_stability(Workbench& bench) {
  using attn::in_one_line;
  const bool has_halves = !narrower_formats(bench.trace.dtype()).empty();
  const auto shown = [&](const char* id) { return has_halves ? in_one_line(id) : attn::OnPage{id}; };
  bench.trace.page(
      {{"idea"},
       {"cure"},
       {"limits"},
       {"flow"},
       {"code"},
       {"scores", nothing_to_notice},
       shown("naive/exp"),
       in_one_line("naive/sum"),
       shown("naive/weights"),
       {"float16/naive/exp"},
       {"float16/naive/weights"},
       in_one_line("stable/max"),
       in_one_line("stable/shifted"),
       {"stable/exp"},
       in_one_line("stable/sum"),
       has_halves ? attn::without_table("stable/weights") : attn::OnPage{"stable/weights"},
       {"float16/stable/weights", nothing_to_notice},
       {"temperature"},
       {"temperature/weights", [](const auto& weights) { return note_of_temperatures(weights); }},
       {"fills"},
       {"no-halves"},
       {"scores-beyond-format"},
       {"forms-not-compared"},
       {"fills-not-claimed"},
       {"advice"}},
      {"stable-never-overflows", "naive-overflows-as-predicted", "rows-sum-to-1",
       "entropy-rises-with-temperature"});
}

void run_stability(Workbench& bench) {
  auto& trace = bench.trace;
  lay_out_stability(bench);
  explain_overflow(bench);
  bench.flow(stability_flow(bench));
  show_stability_code(bench);
  const auto scores = show_scores_of_all_sizes(bench);
  std::vector<BothForms> formats = {show_own_format(bench, scores)};
  for (const auto format : narrower_formats(trace.dtype()))
    formats.push_back(show_narrower_format(bench, scores, format));
  show_both_forms(bench, formats.back());
  const auto fills = show_fills_in_halves(bench, formats.back());
  trace.note("temperature", "The temperature",
             "A temperature T divides the scores before softmax, as in lesson lookup: softmax(x / T). A T "
             "below 1 makes scores larger, so it needs the cure too.");
  const auto entropy = show_temperatures(bench, attn::row(scores, 0));
  advise_on_softmax(trace);

  claim_stability(bench, formats, fills, entropy);
  bench.try_next({{"stability --dtype float16", "the whole page in half precision"},
                  {"stability --explain 'stable/exp[size 1000, cat]'", "why is it 0?"},
                  {"patterns", "attention that decides too little or too much"}});
}

std::vector<Input> stability_inputs(const Options&) {
  return {{.id = "scores", .axes = {"query=", "key"}, .draw = Draw::page, .is_multiplied = false}};
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
    .options = {"sentence", "seed", "rng", "draws", "dtype"},
    .takes_batches = false,
    .defaults = {.sentence = {"the small cat slept"}},
    .examples = {"stability --sentence \"the cat sat on the mat\"",
                 "stability --dtype float32 --steps float16/"},
    .inputs = stability_inputs,
    .run = run_stability,
};

}  // namespace lessons
