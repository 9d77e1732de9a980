/// Attention for long sequences: nine variants that compute fewer than n² scores, hold fewer of them at a
/// time, or share keys and values, each beside full attention. The sources stand at each of them.

#include "lessons/efficient.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <filesystem>

#include "attn/error.hpp"
#include "attn/ops/measure.hpp"
#include "lessons/claims.hpp"
#include "lessons/efficient/variants.hpp"
#include "lessons/lesson.hpp"

namespace lessons {

namespace {

struct Variant {
  std::string_view name;
  void (*show)(VariantBench& on);
};

const std::vector<Variant> variants = {
    {"local", show_local},         {"sliding", show_sliding},     {"sparse", show_sparse},
    {"linear", show_linear},       {"chunked", show_chunked},     {"flash", show_flash},
    {"linformer", show_linformer}, {"performer", show_performer}, {"gqa", show_gqa},
};

/// Why a variant cannot be shown with these options and what would be valid; empty where it can.
struct Obstacle {
  std::string reason, valid;
};

Obstacle obstacle_to(std::string_view variant, const Options& options) {
  if (variant == "linformer" && options.causal)
    return {"--causal goes with no --variant linformer, which mixes all the keys before any query sees them",
            "--variant performer, or no --causal"};
  const auto heads = *options.heads;
  for (const auto& [flag, width] : {std::pair("d-k", *options.d_k), std::pair("d-v", *options.d_v)})
    if (variant == "gqa" && width % heads != 0)
      return {fmt::format("--{} {} cannot be cut into --heads {} of one width", flag, width, heads),
              fmt::format("--{} {} or another multiple of {}", flag, (width / heads + 1) * heads, heads)};
  return {};
}

bool is_wanted(std::string_view variant, const Options& options) {
  return options.variant == variant || options.variant == "all";
}

void require_possible(const Options& options) {
  if (options.variant == "all") return;
  const auto [reason, valid] = obstacle_to(options.variant, options);
  if (!reason.empty()) throw attn::Error(fmt::format("{}; valid: {}", reason, valid));
}

void introduce(attn::Trace& trace) {
  trace.note(
      "idea", "The idea",
      "Full attention has a score for every pair of tokens. In a sentence that is nothing; in a book of "
      "100000 tokens it is ten thousand million scores for every head of every layer. There are three ways "
      "out: to leave pairs out (local, sliding, sparse), to replace what pairs up all tokens by something "
      "that sums them up first (linear, linformer, performer), or to compute exactly the same in an order "
      "that holds little of it at a time (chunked, flash). And heads can share their keys and values (gqa). "
      "Every variant here runs on the same Q, K and V and is measured against full attention.",
      "Attention(Q, K, V) = softmax(Q Kᵀ / √d_k) V");
}

std::optional<Mask<2>> read_pattern(const Plan& plan) {
  const auto& pattern = *plan.options.pattern;
  const bool is_file = pattern != "strided" && pattern != "fixed" && pattern != "random";
  if (!is_file || !is_wanted("sparse", plan.options)) return std::nullopt;
  if (!std::filesystem::exists(pattern))
    throw attn::Error(
        fmt::format("--pattern {} is no pattern, and there is no file of that name; valid: strided, fixed, "
                    "random or FILE",
                    pattern));
  return attn::load_pattern(pattern, plan.sentence.length());
}

/// Q, K and V, drawn in that order.
VariantBench show_inputs(Workbench& bench, std::optional<Mask<2>> pattern) {
  const auto n = bench.plan.sentence.length();
  bench.label({"query", "key"}, bench.plan.sentence);
  auto Q = bench.input<2>({.id = "Q", .title = "What each token asks for"});
  auto K = bench.input<2>({.id = "K", .title = "What each token can be found by"});
  auto V = bench.input<2>({.id = "V", .title = "What each token has to give"});
  auto visible = bench.options.causal ? attn::window_keys(n, n, 0) : attn::all_keys(n, n);
  const double magnitude =
      magnitude_of_scores(Q, K, std::sqrt(static_cast<double>(bench.d_k()))) * attn::max_abs(V);
  return {bench,        std::move(Q),       std::move(K),
          std::move(V), std::move(visible), {},
          magnitude,    std::move(pattern), {}};
}

void explain_counting(attn::Trace& trace, double negligible) {
  trace.note(
      "counting", "How it is measured",
      fmt::format("Each variant counts its operations while it runs. A multiply-add is a product that goes "
                  "into a sum; additions alone, divisions and exponentials are not counted. The score bytes "
                  "are the most that was held at one time of scores, or of what stands in their place. The "
                  "error is the largest difference from the output of full attention; one of at most {:g}, "
                  "which rounding alone explains, is shown as 0. The numbers are random, and no token is "
                  "closer to its neighbours than to any other, so errors are larger here than they are on "
                  "text.",
                  negligible));
}

void show_full(VariantBench& on) {
  auto& trace = on.bench.trace;
  const auto pairs = attn::pair_count(on.visible);
  auto counter = on.counter();
  on.full = sparse_attention(
      trace,
      {.weights = {.id = "full/weights",
                   .title = "Full attention, to compare with",
                   .formula = "softmax(Q Kᵀ / √d_k)",
                   .from = {"Q", "K"},
                   .axes = {"query", "key"},
                   .note = on.causal()
                               ? "With --causal a query sees the keys up to its own; the others are not "
                                 "computed here, where a plain implementation computes and then hides "
                                 "them."
                               : "",
                   .distribution = true},
       .output = {.id = "full/output",
                  .title = "The output of full attention",
                  .formula = "full/weights V",
                  .from = {"full/weights", "V"},
                  .axes = {"query", "d_v"}}},
      on.Q, on.K, on.V, on.visible, counter);
  const auto& cost = counter.cost();
  trace.step({.id = "full/multiply_adds",
              .title = "The multiply-adds of full attention",
              .formula = fmt::format("{} pairs · (d_k + d_v)", pairs),
              .from = {"Q", "K", "V"},
              .note = "For each pair one dot product of d_k terms, and d_v products to add up the values.",
              .worked = worked_number_of(worked_pairs(on, pairs))},
             cost.multiply_adds);
  trace.step({.id = "full/score_bytes",
              .title = "The bytes of scores that full attention held at one time",
              .formula = on.bytes_of(pairs, "scores"),
              .from = {"Q", "K", "V"},
              .worked = worked_number_of(worked_bytes(on, static_cast<double>(pairs)))},
             cost.score_bytes);
  on.shown.push_back({"full", cost, 0.0});
}

std::string comparison_table(const std::vector<VariantResult>& results) {
  auto table = fmt::format("{:<10} {:>14} {:>12} {:>10}", "", "multiply-adds", "score bytes", "error");
  for (const auto& [variant, cost, error] : results)
    table += fmt::format("\n{:<10} {:>14} {:>12} {:>10}", variant, cost.multiply_adds, cost.score_bytes,
                         error == 0.0 ? "0" : fmt::format("{:.4f}", error));
  return table;
}

void compare(attn::Trace& trace, const std::vector<VariantResult>& results) {
  trace.note("comparison", "Side by side",
             "What is small here need not stay small. Full attention, sparse attention with a fixed share of "
             "the pairs, chunked and flash attention take n² multiply-adds; local, sliding, linear, "
             "linformer and performer take n times something that does not depend on n, and so win once n is "
             "large enough. The lesson complexity lets n grow.",
             comparison_table(results));
}

void run_efficient(Workbench& bench) {
  const auto& options = bench.options;
  require_possible(options);
  auto pattern = read_pattern(bench.plan);
  introduce(bench.trace);
  auto on = show_inputs(bench, std::move(pattern));
  explain_counting(bench.trace, rounding(bench.trace, on.magnitude).bound);
  show_full(on);
  for (const auto& variant : variants) {
    if (!is_wanted(variant.name, options)) continue;
    const auto obstacle = obstacle_to(variant.name, options);
    if (obstacle.reason.empty())
      variant.show(on);
    else
      bench.trace.note(fmt::format("{}/skipped", variant.name), fmt::format("{}: left out", variant.name),
                       fmt::format("{}. It can be shown with {}.", obstacle.reason, obstacle.valid));
  }
  compare(bench.trace, on.shown);
}

std::vector<Input> efficient_inputs(const Options&) {
  return {{"Q", {"query", "d_k"}},
          {"K", {"key", "d_k"}},
          {"V", {"key", "d_v"}},
          {"linformer/E", {"feature=rank", "key"}, Draw::weight},
          {"linformer/F", {"feature=rank", "key"}, Draw::weight},
          {"performer/omega", {"feature", "d_k"}}};
}

}  // namespace

extern const Lesson efficient;
const Lesson efficient = {
    .name = "efficient",
    .title = "attention for long sequences: compute less, or hold less",
    .teaches =
        "Windows and patterns compute fewer than n² scores, linear attention, Linformer and Performer sum "
        "the keys up first and need none of the n², chunked and flash attention compute all of them but hold "
        "few at a time, and grouped queries have as many and hold fewer keys and values. Each of the nine "
        "variants runs and is measured against full attention: how far its output is off, how many "
        "multiply-adds it takes and how many bytes of scores it holds.",
    .options = {"sentence", "d-k", "d-v", "heads", "kv-heads", "variant", "window", "pattern", "block",
                "rank", "features", "causal", "seed", "rng", "draws", "dtype"},
    .takes_batches = false,
    .defaults = {.sentence = {"the cat sat on the mat"},
                 .d_k = 4,
                 .d_v = 4,
                 .heads = 2,
                 .kv_heads = 1,
                 .window = 2,
                 .pattern = "strided",
                 .block = 2,
                 .rank = 2},
    .examples = {"efficient --variant flash --block 4",
                 "efficient --variant sparse --pattern random --sentence \"a b c d e f g h\" --seed 7"},
    .inputs = efficient_inputs,
    .run = run_efficient,
};

}  // namespace lessons
