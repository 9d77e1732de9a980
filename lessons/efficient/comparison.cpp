/// What the variants of attention do, cost and get wrong, side by side.

#include "lessons/efficient/comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "attn/text/width.hpp"

namespace lessons {

namespace {

/// Which pairs a variant that leaves some out computes.
std::string words_on_pairs(const VariantBench& on, std::string_view name) {
  const auto& options = on.bench.options;
  const auto block = *options.block;
  if (name == "local")
    return fmt::format("A query sees the keys at most {} places away{}.", *options.window,
                       on.causal() ? ", none after it" : "");
  if (name == "sliding")
    return fmt::format("A query sees its own key and the {} before it.", *options.window);
  if (*options.pattern != "strided") return "A query sees the keys of a pattern.";
  return fmt::format("A query sees keys less than {0} away, and those {0}, {1}, {2}, … away.", block,
                     2 * block, 3 * block);
}

/// What performer takes for each token, and from which length on that is less than full attention takes.
std::string words_on_cost_of_features(const VariantBench& on, const attn::Cost& cost) {
  const auto d_k = on.K.shape(1), of_a_pair = d_k + on.V.shape(1),
             phi = 2 * (*on.bench.options.features + 1) * d_k;
  if (on.causal()) return fmt::format("φ takes {} mult-adds for each token.", phi);
  const auto of_a_token = static_cast<std::size_t>(cost.multiply_adds) / on.n();
  return fmt::format(
      "From {} tokens on that takes fewer mult-adds than full attention: {} a token, not {} a pair.",
      of_a_token / of_a_pair + 1, of_a_token, of_a_pair);
}

/// What a variant that combines keys and values does.
std::string words_on_sums(const VariantBench& on, const VariantResult& result) {
  const auto& options = on.bench.options;
  const std::string_view name = result.variant;
  if (name == "linear")
    return fmt::format(
        "φ(q) · φ(k) replaces exp(score); φ(x) is x + 1 above 0, else eˣ. The sums over all keys, S = Σ φ(k) "
        "vᵀ [{0}×{1}] and z = Σ φ(k) [{0}], are computed once. Each query takes φ(q) S / (φ(q) · z).",
        on.K.shape(1), on.V.shape(1));
  if (name == "performer")
    return fmt::format(
        "φ(x) is features = {} numbers, made of x with random vectors. On average over such vectors "
        "φ(q) · φ(k) is exp(score). The rest is as in linear. {}",
        *options.features, words_on_cost_of_features(on, result.cost));
  return fmt::format(
      "Keys and values become rank = {} weighted sum{} of their {} row{}. A model learns the weights of "
      "these sums; here they are random.",
      *options.rank, *options.rank == 1 ? "" : "s", on.n(), on.n() == 1 ? "" : "s");
}

std::string words_on_shared_heads(const VariantBench& on) {
  const auto heads = on.bench.heads(), sets = on.bench.kv_heads();
  if (heads == sets) return "Each head has keys and values of its own here, and shares with nobody.";
  return fmt::format(
      "Q is cut into {} heads of {} columns, which share {} K and V, their mean. The error is against heads "
      "that share nothing.",
      heads, on.Q.shape(1) / heads, sets);
}

/// What a variant does, in plain sentences.
std::string words_on_variant(const VariantBench& on, const VariantResult& result) {
  const std::string_view name = result.variant;
  const auto block = *on.bench.options.block;
  if (name == "local" || name == "sliding" || name == "sparse") return words_on_pairs(on, name);
  if (name == "linear" || name == "performer" || name == "linformer") return words_on_sums(on, result);
  if (name == "gqa") return words_on_shared_heads(on);
  const auto sees = on.causal() ? "A query sees all keys up to its own." : "A query sees all keys.";
  if (name == "flash") return fmt::format("{} Memory holds the scores of one tile.", sees);
  return fmt::format("{} Memory holds the scores of {} quer{}.", sees, block, block == 1 ? "y" : "ies");
}

/// In the order of the idea: pairs left out, sums and mixtures, other orders, shared heads.
std::vector<VariantResult> by_kind(std::vector<VariantResult> results) {
  const auto place = [](const VariantResult& result) {
    static const std::vector<std::string_view> order = {
        "full", "local", "sliding", "sparse", "linear", "performer", "linformer", "chunked", "flash", "gqa"};
    return std::find(order.begin(), order.end(), result.variant) - order.begin();
  };
  std::stable_sort(results.begin(), results.end(),
                   [&](const auto& a, const auto& b) { return place(a) < place(b); });
  return results;
}

std::string words_on_no_number(const VariantBench& on, const VariantResult& result) {
  if (std::isfinite(result.error)) return "";
  return fmt::format(" Here a φ is beyond {}: the output has nan.", attn::name_of(on.bench.trace.dtype()));
}

/// "local      A query sees …": the names in a column, the sentences beside it.
std::string list_of_variants(const VariantBench& on, const std::vector<VariantResult>& results) {
  constexpr std::size_t width = 11, columns = 74;
  std::string list;
  for (const auto& result : by_kind(results)) {
    auto name = result.variant;
    if (name == "full") continue;
    for (const auto& line :
         attn::wrap(words_on_variant(on, result) + words_on_no_number(on, result), columns - width)) {
      list += fmt::format("{}{}{}", list.empty() ? "" : "\n", attn::pad_right(name, width), line);
      name.clear();
    }
  }
  return list;
}

/// Those that compute what full attention computes.
bool is_exact_variant(std::string_view name) {
  return name == "full" || name == "chunked" || name == "flash";
}

/// How a cost grows with the number of tokens n.
struct Growth {
  std::string_view multiply_adds, bytes;
};

Growth growth_of(std::string_view variant, const Options& options) {
  if (variant == "local" || variant == "sliding" || variant == "linformer") return {"n", "n"};
  if (variant == "sparse" && *options.pattern == "random") return {"n", "n"};
  if (variant == "linear" || variant == "performer") return {"n", "1"};
  if (variant == "chunked") return {"n²", "n"};
  if (variant == "flash") return {"n²", "1"};
  return {"n²", "n²"};
}

std::string comparison_table(const VariantBench& on) {
  std::int64_t most_adds = 0, most_bytes = 0;
  for (const auto& one : on.shown) {
    most_adds = std::max(most_adds, one.cost.multiply_adds);
    most_bytes = std::max(most_bytes, one.cost.score_bytes);
  }
  const auto adds = std::max<std::size_t>(12, std::to_string(most_adds).size() + 3);
  const auto bytes = std::max<std::size_t>(9, std::to_string(most_bytes).size() + 3);
  std::string table = fmt::format("{:<11}{:>7}{:>10}{:>{}}{:>7}{:>{}}{:>7}", "", "error", "relative",
                                  "mult-adds", adds, "grow", "bytes", bytes, "grow");
  for (const auto& [variant, cost, error, relative] : by_kind(on.shown)) {
    const bool is_exact = error == 0.0 && is_exact_variant(variant);
    const auto grows = growth_of(variant, on.bench.options);
    const auto shown = [&](double number) { return is_exact ? "exact" : fmt::format("{:.4f}", number); };
    table += fmt::format("\n{:<11}{:>7}{:>10}{:>{}}{}{:>{}}{}", variant, shown(error), shown(relative),
                         cost.multiply_adds, adds, attn::pad_left(grows.multiply_adds, 7), cost.score_bytes,
                         bytes, attn::pad_left(grows.bytes, 7));
  }
  return table;
}

/// What flash attention multiplies more than full attention: l and o times c, in each block but the first.
std::string rescalings_of_flash(const VariantBench& on, std::int64_t more) {
  const auto n = on.n(), block = std::min(*on.bench.options.block, n), d_v = *on.bench.options.d_v;
  const auto later = (n + block - 1) / block - 1;
  if (more != static_cast<std::int64_t>(n * later * (1 + d_v)))
    return fmt::format("{} mult-adds more, for c · l and c · o", more);
  return fmt::format("{} queries · {} later block{} · (1 for l + {} for o) = {} more", n, later,
                     later == 1 ? "" : "s", d_v, more);
}

/// What stands behind the numbers of a row, line by line.
using LinesOn = std::vector<std::string>;

LinesOn lines_on_full(const VariantBench& on, const attn::Cost& cost) {
  const auto pairs = attn::pair_count(on.visible);
  return {
      fmt::format("{} pair{} · ({} for score + {} for value) = {} mult-adds", pairs, pairs == 1 ? "" : "s",
                  *on.bench.options.d_k, *on.bench.options.d_v, cost.multiply_adds),
      fmt::format("{} = {} bytes", on.bytes_of(pairs, pairs == 1 ? "score" : "scores"), cost.score_bytes)};
}

LinesOn lines_on_flash(const VariantBench& on, const attn::Cost& cost) {
  const auto block = std::min(*on.bench.options.block, on.n());
  const auto more = cost.multiply_adds - on.shown.front().cost.multiply_adds;
  LinesOn lines;
  if (more > 0) lines.push_back(rescalings_of_flash(on, more));
  if (static_cast<std::size_t>(cost.score_bytes) == block * block * attn::item_size(on.bench.trace.dtype()))
    lines.push_back(fmt::format("{} · {} = {} bytes", block,
                                on.bytes_of(block, block == 1 ? "score" : "scores"), cost.score_bytes));

  return lines;
}

/// The counts of linear attention that sums all keys up once.
LinesOn lines_on_linear(const VariantBench& on, const attn::Cost& cost) {
  const auto n = on.n(), d_k = on.K.shape(1), d_v = on.V.shape(1), held = d_k * d_v + d_k;
  LinesOn lines = {
      fmt::format("output = φ(q) S / φ(q) z, S = Σ φ(k) vᵀ [{0}×{1}], z = Σ φ(k) [{0}]", d_k, d_v)};
  if (static_cast<std::size_t>(cost.multiply_adds) == n * (2 * d_k * d_v + d_k) && !on.causal())
    lines.push_back(fmt::format("{} · ({} for S + {} for φ(q) S + {} for φ(q) z) = {} mult-adds", n,
                                d_k * d_v, d_k * d_v, d_k, cost.multiply_adds));
  const auto bytes = attn::item_size(on.bench.trace.dtype());
  if (static_cast<std::size_t>(cost.score_bytes) == held * bytes)
    lines.push_back(
        fmt::format("({} in S + {} in z) · {} bytes = {} bytes", d_k * d_v, d_k, bytes, cost.score_bytes));
  return lines;
}

LinesOn lines_on(const VariantBench& on, const VariantResult& result) {
  const auto& name = result.variant;
  if (name == "full") return lines_on_full(on, result.cost);
  if (name == "flash") return lines_on_flash(on, result.cost);
  if (name == "linear") return lines_on_linear(on, result.cost);
  return {};
}

/// Full attention and the variant that the page goes into; or all others.
std::string table_of_counts(const VariantBench& on, std::string_view shown, bool is_on_page) {
  std::string table;
  for (const auto& result : by_kind(on.shown)) {
    auto name = result.variant;
    if ((name == "full" || name == shown) != is_on_page) continue;
    for (const auto& line : lines_on(on, result)) {
      table += fmt::format("{}{:<9}  {}", table.empty() ? "" : "\n", name, line);
      name.clear();
    }
  }
  return table;
}

/// How the table is read.
constexpr const char* words_on_columns =
    "error      largest difference from full's output; relative: over its largest\n"
    "mult-adds  the products that go into sums, counted in the lab's own loops\n"
    "bytes      the most that scores (linear, performer: sums) take at a time\n"
    "grow       with the number of words n: as n², as n, or not at all (1)\n\n";

}  // namespace

void show_variants(const VariantBench& on) {
  const bool has_others = on.shown.size() > 2;
  on.bench.trace.note(
      "variants",
      has_others ? "What each variant does (--variant NAME works it out)" : "What the variant does", "",
      list_of_variants(on, on.shown));
}

void compare_variants(const VariantBench& on) {
  auto& trace = on.bench.trace;
  trace.note("comparison", "Side by side", "", words_on_columns + comparison_table(on));
  const auto shown = by_kind(on.shown);
  std::vector<std::string> variants, errors_of, costs_of;
  attn::Tensor<2> errors({shown.size(), 2});
  attn::Integers<2> costs({shown.size(), 2});
  for (std::size_t i = 0; i < shown.size(); ++i) {
    const auto& [variant, cost, error, relative] = shown[i];
    variants.push_back(variant);
    if (variant != "full")
      for (const char* name : {"/error", "/relative_error"}) errors_of.push_back(variant + name);
    for (const char* name : {"/multiply_adds", "/score_bytes"}) costs_of.push_back(variant + name);
    errors(i, 0) = error;
    errors(i, 1) = relative;
    costs(i, 0) = cost.multiply_adds;
    costs(i, 1) = cost.score_bytes;
  }
  trace.label("variant", {{variants}});
  const auto show = [&](const std::string& what, const std::vector<std::string>& from,
                        const std::vector<std::string>& measures, auto numbers) {
    trace.label("measure", {{measures}});
    trace.step({.id = "comparison/" + what,
                .title = fmt::format("The {} of the table side by side", what),
                .from = from,
                .axes = {"variant", "measure"}},
               std::move(numbers));
  };
  show("errors", errors_of, {"error", "relative"}, std::move(errors));
  show("costs", costs_of, {"mult-adds", "bytes"}, std::move(costs));
}

void show_counts(const VariantBench& on, std::string_view shown) {
  on.bench.trace.note("counts", "Where these numbers come from", "", table_of_counts(on, shown, true));
}

void show_other_counts(const VariantBench& on, std::string_view shown) {
  const auto others = table_of_counts(on, shown, false);
  if (!others.empty())
    on.bench.trace.note("other-counts", "Where the numbers of others come from", "", others);
}

}  // namespace lessons
