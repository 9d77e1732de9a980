/// What attention looks like, in numbers, and the two ways in which it goes wrong. The lesson is the document
/// patterns.md; here is what no formula says: which heads are of which kind, and the heads of other models.
/// Sources: Dong et al. 2021 (tokens that become alike), Zhai et al. 2023 (entropy collapse to a single key).

#include "lessons/patterns.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "attn/error.hpp"
#include "attn/ops/measure.hpp"
#include "lessons/documents/front_matter.hpp"
#include "lessons/lesson.hpp"
#include "lessons/patterns/heads_of_models.hpp"
#include "lessons/trained/about.hpp"
#include "lessons/workbench/claims.hpp"
#include "lessons/workbench/notice.hpp"
#include "trace/diagnosis/arithmetic.hpp"
#include "trace/entry.hpp"

namespace lessons {

namespace {

/// The weights of a run, with an axis of one head where there is none: [batch×head×query×key].
Tensor<4> shares_of(const DocumentRun& run) {
  const auto& view = run.sheet().tensor("weights");
  std::array<std::size_t, 4> shape{view.shape[0], run.bench().heads()};
  std::copy(view.shape.end() - 2, view.shape.end(), shape.begin() + 2);
  auto weights = Tensor<4>::from_shape(shape);
  std::copy_n(static_cast<const double*>(view.data), weights.size(), weights.begin());
  return weights;
}

/// What a step says of each head of each sample, one after the other. A step that all heads or all samples
/// share says the same of each.
std::vector<double> of_heads(const DocumentRun& run, const std::string& step) {
  const auto& view = run.sheet().tensor(step);
  const auto heads = run.bench().heads(), all = run.sheet().size_of(Meanings::batch) * heads;
  std::vector<double> values;
  for (std::size_t i = 0; i < all; ++i) {
    attn::Index at;
    for (const auto& axis : view.axes) at.push_back(axis == "head" ? i % heads : i / heads);
    values.push_back(view.at(at));
  }
  return values;
}

/// Throws attn::Error, with `name`, unless every row sums to 1, or is 0 where nothing may be seen.
void require_shares(const Tensor<4>& weights, attn::Dtype dtype, const std::string& name) {
  const bool is_half = dtype == attn::Dtype::float16 || dtype == attn::Dtype::bfloat16;
  const double rounding_of_others = is_half ? 1e-2 : 1e-3;
  const auto n_k = weights.shape(3);
  for (auto row = weights.begin(); row != weights.end(); row += static_cast<std::ptrdiff_t>(n_k)) {
    const auto end = row + static_cast<std::ptrdiff_t>(n_k);
    const double sum = std::accumulate(row, end, 0.0), smallest = *std::min_element(row, end);
    if (smallest < 0.0 || (sum != 0.0 && std::abs(sum - 1.0) > rounding_of_others))
      throw attn::Error(
          fmt::format("{} has a row with the sum {:g} and the smallest weight {:g}; valid: rows of weights "
                      "of 0 or more that sum to 1",
                      name, sum, smallest));
  }
}

void require_shares(DocumentRun& run) {
  const auto& trace = run.bench().trace;
  if (trace.is_given("weights")) require_shares(shares_of(run), trace.dtype(), trace.given_name("weights"));
}

/// What rounding explains in the sums of the rows: weights that are given may have been rounded before.
attn::Limit rounding_of_rows(const Workbench& bench) {
  const auto given = bench.plan.given.find("weights");
  const auto limit = rounding(bench.trace);
  if (given == bench.plan.given.end() || !given->second.tensor) return limit;
  const auto of_given = rounding(attn::arithmetic_of({&*given->second.tensor}));
  return of_given.bound > limit.bound ? of_given : limit;
}

void claim_rows_sum_to_1(DocumentRun& run, const ToClaim& claim) {
  run.bench().trace.claim({.id = claim.id,
                           .claim = claim.words,
                           .formula = "max |Σⱼ weights − 1|",
                           .value = attn::row_sum_deviation(shares_of(run)),
                           .limit = rounding_of_rows(run.bench())});
}

/// Which word looks most at an earlier or later one of the same name: the rows do not tell.
std::string look_at_twin(const attn::Event& weights) {
  const auto& labels = weights.labels.back();
  if (labels.empty()) return "";
  const auto& tokens = labels.of(0);
  const auto n = weights.tensor->shape.back(), rows = attn::element_count(weights.tensor->shape) / n;
  for (std::size_t row = 0; row < rows; ++row) {
    const auto query = row % n, key = strongest_in_row(weights, row);
    if (key != query && tokens[key] == tokens[query])
      return fmt::format(" #2 marks the second of two equal words: {}{} looks at {}.",
                         rows > n ? fmt::format("in head {} ", row / n) : "",
                         attn::numbered_token(tokens, query), attn::numbered_token(tokens, key));
  }
  return "";
}

/// As many heads are compared with the two ends, and named there.
constexpr std::size_t most_compared = 6;

/// "sample 1  head 0", "weights".
std::string name_of_head(const Workbench& bench, std::size_t i) {
  const auto sample = bench.plan.is_batched() ? fmt::format("sample {}  ", i / bench.heads()) : "";
  return sample + (bench.options.heads ? fmt::format("head {}", i % bench.heads()) : std::string("weights"));
}

/// The note `comparison`: the measures of every head beside those of the two ends, as far as there is room.
void compare_with_ends(DocumentRun& run) {
  const auto& bench = run.bench();
  const auto heads = bench.heads();
  const auto largest = of_heads(run, "largest");
  const auto all_heads = largest.size(), shown = std::min(all_heads, most_compared);
  auto table = fmt::format("{:<19}{:>9}{:>9}{:>9}{:>13}", "", "diagonal", "local", "entropy", "keys in use");
  const auto add = [&](const std::string& name, const std::string& group, std::size_t place, double most) {
    const double spread = of_heads(run, group + "entropy")[place];
    table += fmt::format("\n{:<19}{:>9.4f}{:>9.4f}{:>9.4f}{:>13.2f}   {}", name,
                         of_heads(run, group + "diagonal")[place], of_heads(run, group + "local")[place],
                         spread, std::exp(spread), word_for(spread_of(spread, most)));
  };
  for (std::size_t i = 0; i < shown; ++i) {
    add(name_of_head(bench, i), "", i, largest[i]);
    const bool ends_sample = (i + 1) % heads == 0 || i + 1 == shown;
    if (!ends_sample) continue;
    add("equal shares", "equal/", i, largest[i]);
    add("one key each", "one_hot/", i, largest[i]);
  }
  if (all_heads > shown) table += fmt::format("\n… and {} more heads", all_heads - shown);
  const auto equal = run.sheet().tensor("equal");
  const auto* first = static_cast<const double*>(equal.data);
  const bool hides = std::find(first, first + attn::element_count(equal.shape), 0.0) !=
                     first + attn::element_count(equal.shape);
  bench.trace.note("comparison", "Between two ends",
                   fmt::format("All attention lies between two ends: equal shares of all keys{}, or a single "
                               "key for each query. The single key here is the strongest one{}.",
                               hides ? " that the mask lets a query see" : "",
                               bench.options.heads ? fmt::format(" of head {}", (shown - 1) % heads) : ""),
                   table);
}

/// A line for each head of each sample, where the comparison has no room for them.
std::string verdicts(const DocumentRun& run) {
  constexpr std::size_t most_lines = 16;
  const auto entropy = of_heads(run, "entropy"), largest = of_heads(run, "largest");
  if (entropy.size() <= most_compared) return "";
  auto lines = fmt::format("\n\n{:<19}{:>7}{:>11}{:>14}", "", "entropy", "at most", "keys in use");
  for (std::size_t i = 0; i < std::min(entropy.size(), most_lines); ++i)
    lines += fmt::format("\n{:<19}{:>7.4f}{:>11.4f}{:>14.2f}   {}", name_of_head(run.bench(), i), entropy[i],
                         largest[i], std::exp(entropy[i]), word_for(spread_of(entropy[i], largest[i])));
  return entropy.size() > most_lines ? lines + fmt::format("\n… and {} more", entropy.size() - most_lines)
                                     : lines;
}

void run_patterns(Workbench& bench) {
  const auto twin = [&](const attn::Event& weights) {
    return bench.plan.is_batched() ? "" : look_at_twin(weights);
  };
  const Functions functions = {
      .actions = {{"shares", [](DocumentRun& run) { require_shares(run); }},
                  {"comparison", compare_with_ends},
                  {"kinds",
                   [](DocumentRun& run) {
                     show_kinds(run.bench(), shares_of(run), of_heads(run, "largest"));
                   }},
                  {"models", [](DocumentRun& run) { show_heads_of_models(run.bench()); }}},
      .claims = {{"rows-sum-to-1", claim_rows_sum_to_1}},
      .remarks = {{"twin", twin}},
      .texts = {{"verdicts", verdicts}}};
  DocumentRun run(bench, functions);
  run.set("uniform_within", collapsed_within);
  run.set("sharp_below", over_sparse_below);
  run.tell();
}

void give_about_to_patterns(ModelInputs& inputs) {
  inputs.options().heads = inputs.number("heads");
  inputs.give_rows("X", input_of_second_layer(inputs));
  for (const std::string id : {"W_Q", "W_K"}) inputs.give(id, inputs.matrix("layer=2/attention/" + id));
}

}  // namespace

const LessonCode patterns_code = {.give = give_about_to_patterns, .run = run_patterns};

}  // namespace lessons
