/// Attention for long sequences: nine variants that compute fewer than n² scores, hold fewer of them at a
/// time, or share keys and values, each beside full attention. The sources stand at each of them.

#include "lessons/efficient.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <utility>

#include "attn/error.hpp"
#include "attn/ops/measure.hpp"
#include "attn/text/width.hpp"
#include "lessons/claims.hpp"
#include "lessons/efficient/variants.hpp"
#include "lessons/lesson.hpp"
#include "lessons/sdpa.hpp"
#include "lessons/workbench/notice.hpp"
#include "lessons/workbench/sharpen.hpp"

namespace lessons {

namespace {

std::vector<attn::OnPage> joined_pages(std::vector<attn::OnPage> first,
                                       const std::vector<attn::OnPage>& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

struct Variant {
  std::string_view name;
  std::string_view phrase;  ///< what it does, in a few words
  bool is_exact;
  void (*show)(VariantBench& on);
  std::vector<attn::OnPage> page;   ///< its events, which come on the page where it is the one that is shown
  std::vector<std::string> claims;  ///< likewise
};

std::vector<attn::OnPage> page_of_pairs(const std::string& variant) {
  return {attn::in_one_line(variant + "/mask"), {variant + "/weights"}, {variant + "/output"}};
}

std::vector<attn::OnPage> page_of_features(const std::string& variant) {
  return {{variant + "/phi_Q"},
          attn::in_one_line(variant + "/phi_K"),
          {variant + "/weights", strongest_pair},
          {variant + "/S"},
          {variant + "/z"},
          {variant + "/output"}};
}

const std::vector<Variant> variants = {
    {"local",
     "only keys near the query, both sides",
     false,
     show_local,
     page_of_pairs("local"),
     {"local-equals-band-mask", "local-equals-kernel"}},
    {"sliding",
     "its own key, some before it, none after",
     false,
     show_sliding,
     page_of_pairs("sliding"),
     {"sliding-equals-band-mask", "sliding-equals-kernel"}},
    {"sparse",
     "only the pairs of a pattern, see above",
     false,
     show_sparse,
     page_of_pairs("sparse"),
     {"sparse-equals-pattern-mask", "sparse-equals-kernel"}},
    {"linear",
     "Σ φ(k) vᵀ summed once, read by each φ(q)",
     false,
     show_linear,
     page_of_features("linear"),
     {"linear-equals-all-weights", "causal-linear-equals-recurrence", "linear-equals-kernel"}},
    {"chunked",
     "all pairs, some queries at a time",
     true,
     show_chunked,
     {{"chunked/output"}, {"chunked/checkpointing"}},
     {"chunked-is-exact"}},
    {"flash",
     "all pairs, one small tile at a time",
     true,
     show_flash,
     {{"flash/scores"},
      {"flash/maximum"},
      {"flash/rescaling"},
      {"flash/sum"},
      {"flash/accumulated"},
      {"flash/output"},
      {"flash/memory"}},
     {"flash-is-exact", "flash-equals-kernel", "flash-memory"}},
    {"linformer",
     "keys mixed into a few, then softmax",
     false,
     show_linformer,
     {attn::in_one_line("linformer/E"),
      attn::in_one_line("linformer/F"),
      {"linformer/projected_K"},
      attn::in_one_line("linformer/projected_V"),
      {"linformer/weights"},
      {"linformer/output"}},
     {"linformer-without-mixing"}},
    {"performer",
     "as linear; a random φ imitates softmax",
     false,
     show_performer,
     joined_pages({attn::in_one_line("performer/omega")}, page_of_features("performer")),
     {"performer-equals-all-weights"}},
    {"gqa",
     "all pairs; heads share one K and V",
     false,
     show_gqa,
     {{"gqa/K_grouped"},
      attn::in_one_line("gqa/V_grouped"),
      {"gqa/weights"},
      {"gqa/output"},
      {"gqa/kv_bytes"}},
     {"gqa-equals-repeated-heads", "gqa-equals-kernel"}},
};

/// The one that the page goes into where all are computed.
constexpr std::string_view shown_of_all = "flash";

const Variant& variant_on_page(const Options& options) {
  const auto name = options.variant == "all" ? shown_of_all : std::string_view(options.variant);
  return *std::find_if(variants.begin(), variants.end(),
                       [&](const Variant& variant) { return variant.name == name; });
}

/// The comparison, and then one variant.
void set_efficient_page(attn::Trace& trace, const Options& options) {
  const auto& variant = variant_on_page(options);
  const std::string name(variant.name);
  std::vector<attn::OnPage> page = {{"idea"}, {"patterns"}, {name + "/idea"}, {"flow"}, {name + "/code"}};
  for (const auto* id : {"Q", "K", "V"}) page.push_back(attn::in_one_line(id));
  auto claims = variant.claims;
  if (options.variant == "all") claims.push_back("chunked-is-exact");
  trace.page(joined_pages(joined_pages(std::move(page), variant.page), {{"comparison"}, {"counts"}}), claims);
}

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

void introduce_efficient(const Workbench& bench) {
  bench.idea(
      "Full attention computes a score for every pair of tokens: of 100 000 tokens these are 10 000 000 000, "
      "for every head of every layer. There are four ways to do with less. Leave pairs out (local, sliding, "
      "sparse). Sum up or mix the keys and values first (linear, performer, linformer). Compute the very "
      "same output in an order that holds few scores at a time (chunked, flash). Let heads share their keys "
      "and values (gqa). All but gqa run here on the same Q, K and V, a row for each token, as the lesson "
      "self-attention makes them.",
      "softmax(Q Kᵀ / √d_k) V");
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
  return {bench, std::move(Q), std::move(K),       std::move(V), std::move(visible),
          {},    magnitude,    std::move(pattern), {},           {}};
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
  auto lines = softmax_code();
  lines.push_back("");
  lines.push_back("scaled = Q @ K.T / np.sqrt(Q.shape[1])");
  if (on.causal()) lines.push_back("scaled = np.where(np.tri(len(Q), dtype=bool), scaled, -np.inf)");
  lines.insert(lines.end(), {"full_weights = softmax(scaled)", "full_output = full_weights @ V"});
  show_code(on, "full", lines);
  const auto pairs = attn::pair_count(on.visible);
  auto counter = on.counter();
  on.full = sparse_attention(
      trace,
      {.weights = {.id = "full/weights",
                   .title = "The weights of full attention",
                   .formula = "softmax(Q Kᵀ / √d_k)",
                   .from = {"Q", "K"},
                   .axes = {"query", "key"},
                   .note = on.causal()
                               ? "With --causal a query sees the keys up to its own; the others are not "
                                 "computed here, where a plain implementation computes and then hides them."
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

std::string_view phrase_of(std::string_view name) {
  for (const auto& variant : variants)
    if (variant.name == name) return variant.phrase;
  return "softmax over all pairs";
}

bool is_exact_variant(std::string_view name) {
  for (const auto& variant : variants)
    if (variant.name == name) return variant.is_exact;
  return true;
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

std::string comparison_table(const std::vector<VariantResult>& results) {
  static constexpr char columns[] = "{:<9} {} {:>6} {:>9} {:>6}";
  constexpr std::size_t width = 40;
  auto table =
      fmt::format(columns, "", attn::pad_right("what it computes", width), "error", "mult-adds", "bytes");
  for (const auto& [variant, cost, error] : by_kind(results)) {
    const bool is_exact = error == 0.0 && is_exact_variant(variant);
    table += '\n' + fmt::format(columns, variant, attn::pad_right(std::string(phrase_of(variant)), width),
                                is_exact ? "exact" : fmt::format("{:.4f}", error), cost.multiply_adds,
                                cost.score_bytes);
  }
  return table;
}

/// What the row of gqa compares; nothing where there is none.
std::string words_on_heads(const Workbench& bench, const std::vector<VariantResult>& results) {
  const bool has_gqa =
      std::any_of(results.begin(), results.end(), [](const auto& result) { return result.variant == "gqa"; });
  if (!has_gqa) return "";
  if (bench.heads() == 1) return " gqa has one head here, which shares with nobody.";
  return fmt::format(
      " gqa cuts Q, K and V into {0} heads with d_k = {2}, d_v = {3}, and holds {0} tables of scores. Its "
      "error is against {0} heads with K and V of their own. It keeps {1} K and V, not {0}.",
      bench.heads(), bench.kv_heads(), *bench.options.d_k / bench.heads(),
      *bench.options.d_v / bench.heads());
}

/// The result of a variant; nothing where it did not run.
const VariantResult* result_of(const std::vector<VariantResult>& results, std::string_view name) {
  const auto found = std::find_if(results.begin(), results.end(),
                                  [&](const auto& result) { return result.variant == name; });
  return found == results.end() ? nullptr : &*found;
}

/// What flash attention multiplies more than full attention: l and o times c, in each block but the first.
std::string about_rescaling(const VariantBench& on, std::int64_t more) {
  const auto n = on.n(), block = std::min(*on.bench.options.block, n), d_v = *on.bench.options.d_v;
  const auto later = (n + block - 1) / block - 1;
  if (more != static_cast<std::int64_t>(n * later * (1 + d_v)))
    return fmt::format(" Flash takes {} mult-adds more: l and o times c.", more);
  return fmt::format(" Flash takes {} queries · {} later block{} · (1 for l + {} for o) = {} mult-adds more.",
                     n, later, later == 1 ? "" : "s", d_v, more);
}

/// What stands behind the counts, and what the letters in the table mean.
std::string words_on_counts(const VariantBench& on, const std::vector<VariantResult>& results) {
  const auto& bench = on.bench;
  const auto *full = result_of(results, "full"), *flash = result_of(results, "flash");
  const auto d_k = *bench.options.d_k, d_v = *bench.options.d_v;
  const auto pairs = attn::pair_count(on.visible), bytes = attn::item_size(bench.trace.dtype());
  std::string words = fmt::format(
      "A pair takes d_k + d_v = {0} mult-adds, for its score and its value: full takes {1} · {0} = {2}. A "
      "score takes {3} bytes: full holds {1} · {3} = {4}",
      d_k + d_v, pairs, full->cost.multiply_adds, bytes, full->cost.score_bytes);
  const auto block = std::min(*bench.options.block, on.n());
  if (flash != nullptr && static_cast<std::size_t>(flash->cost.score_bytes) == block * block * bytes)
    words += fmt::format(", flash a tile, {0} · {0} · {1} = {2}", block, bytes, flash->cost.score_bytes);
  words += ".";
  if (flash != nullptr && flash->cost.multiply_adds > full->cost.multiply_adds)
    words += about_rescaling(on, flash->cost.multiply_adds - full->cost.multiply_adds);
  if (result_of(results, "linear") != nullptr || result_of(results, "performer") != nullptr)
    words +=
        " Linear: φ(x) = x + 1 for x ≥ 0, eˣ for x < 0, number by number. φ(q) · φ(k) takes the place of "
        "exp(q · k / √d_k). Then Σⱼ (φ(q) · φ(kⱼ)) vⱼᵀ = φ(q)ᵀ (Σⱼ φ(kⱼ) vⱼᵀ): the sum in brackets is made "
        "once and serves every query.";
  if (result_of(results, "performer") != nullptr)
    words += fmt::format(" Performer's φ has {} (features).", *bench.options.features);
  if (result_of(results, "linformer") != nullptr)
    words += fmt::format(" Linformer mixes keys into {} (rank).", *bench.options.rank);
  return words;
}

/// How the table is read, and which row the page has worked out.
std::string words_on_columns(const Workbench& bench, const std::vector<VariantResult>& results) {
  const auto name = variant_on_page(bench.options).name;
  return fmt::format(
      "Worked out above is {}{}. Error: the largest absolute difference from full attention's output. "
      "Mult-adds: products that go into a sum, counted while the code runs. Bytes: of scores (linear, "
      "performer: of sums) the most held at one time.",
      name, results.size() > 2 ? "; the others with --variant NAME" : "");
}

void compare(const VariantBench& on, const std::vector<VariantResult>& results) {
  auto& trace = on.bench.trace;
  trace.note("comparison", "Side by side", words_on_columns(on.bench, results), comparison_table(results));
  trace.note("counts", "What stands behind the numbers",
             words_on_counts(on, results) + words_on_heads(on.bench, results));
}

/// "█ █ · ·" for each row of some masks that stand side by side, and their names above.
std::string pictures_of(const std::vector<std::pair<std::string, Mask<2>>>& masks, std::size_t most) {
  const auto n = std::min(masks.front().second.shape(0), most);
  const std::size_t width = std::max<std::size_t>(2 * n, 8);
  std::string lines;
  for (const auto& [name, mask] : masks) lines += attn::pad_right(name, width + 2);
  lines.erase(lines.find_last_not_of(' ') + 1);
  for (std::size_t i = 0; i < n; ++i) {
    lines += "\n";
    for (const auto& [name, mask] : masks) {
      std::string row;
      for (std::size_t j = 0; j < n; ++j) row += mask(i, j) ? "█ " : "· ";
      lines += attn::pad_right(row, width + 2);
    }
    lines.erase(lines.find_last_not_of(' ') + 1);
  }
  return lines;
}

/// " Strided sparse: near keys, closer than 2, and those 2, 4, … away." Empty where no rule can be said.
std::string rule_of_sparse(const VariantBench& on) {
  if (!is_wanted("sparse", on.bench.options) || *on.bench.options.pattern != "strided") return "";
  const auto block = *on.bench.options.block;
  return fmt::format(
      " Sparse is strided here: keys less than {0} places away, and those {0}, {1}, {2} … away.", block,
      2 * block, 3 * block);
}

void show_patterns(VariantBench& on) {
  constexpr std::size_t most = 8;
  std::vector<std::pair<std::string, Mask<2>>> masks = {{"full", on.visible_mask()}};
  masks.insert(masks.end(), on.patterns.begin(), on.patterns.end());
  if (masks.size() == 1) return;
  on.bench.trace.note(
      "patterns", "Which pairs are computed",
      fmt::format("A row is a query, a column a key: █ computed, · left out.{}{}", rule_of_sparse(on),
                  on.n() > most ? fmt::format(" The first {} tokens.", most) : ""),
      pictures_of(masks, most));
}

/// Full attention and the variant that the page goes into, with the shapes of this run.
std::vector<std::string> efficient_flow(const VariantBench& on) {
  const auto& options = on.bench.options;
  const std::string name(variant_on_page(options).name);
  const auto n = on.n(), d_k = on.K.shape(1), d_v = on.V.shape(1);
  const auto block = std::min(*options.block, n), pairs = attn::pair_count(on.visible);
  const auto output = fmt::format("output [{}×{}]", n, d_v);
  std::vector<std::string> lines = {fmt::format("full       Q Kᵀ → {} score{} → softmax → weights V → {}",
                                                pairs, pairs == 1 ? "" : "s", output)};
  std::string way;
  if (name == "linear" || name == "performer") {
    const auto m = name == "linear" ? d_k : *options.features;
    way = fmt::format("φ(K)ᵀ V → S [{0}×{1}], z [{0}] → φ(Q) S / φ(Q) z → {2}", m, d_v, output);
  } else if (name == "chunked") {
    way = fmt::format("{0} queries: Q Kᵀ [{0}×{1}] → softmax → {0} rows of {2}", block, n, output);
  } else if (name == "flash") {
    way = fmt::format("tile [{0}×{0}] → m, l, o → next tile → … → o / l → {1}", block, output);
  } else if (name == "linformer") {
    way = fmt::format("E K [{0}×{1}] → Q (E K)ᵀ [{2}×{0}] → softmax · F V → {3}", *options.rank, d_k, n,
                      output);
  } else if (name == "gqa") {
    way = fmt::format("{} heads of Q read {} of K and V → {}", on.bench.heads(), on.bench.kv_heads(), output);
  } else {
    way = fmt::format("{} scores → softmax → weights V → {}",
                      attn::pair_count(attn::keys_of(on.patterns.back().second)), output);
  }
  lines.push_back(fmt::format("{:<10} {}", name, way));
  return lines;
}

void suggest_variants(const Workbench& bench) {
  const bool is_flash = variant_on_page(bench.options).name == shown_of_all;
  bench.try_next({{is_flash ? "efficient --variant local" : "efficient --variant flash",
                   is_flash ? "fewer scores: what is lost?" : "exact, without a whole row of scores"},
                  {"efficient --variant linear", "no scores, but sums of keys and values"},
                  {"ring", "the same tiles, each on a machine of its own"}},
                 {{"efficient --variant gqa", "heads that share keys and values"}});
}

void run_efficient(Workbench& bench) {
  const auto& options = bench.options;
  require_possible(options);
  set_efficient_page(bench.trace, options);
  auto pattern = read_pattern(bench.plan);
  introduce_efficient(bench);
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
  compare(on, on.shown);
  show_patterns(on);
  bench.flow(efficient_flow(on));
  suggest_variants(bench);
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
    .defaults = {.sentence = {"the small cat saw a dog"},
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
    .probe = Probe{{.sentence = {"a b c d e f g"},
                    .d_k = 8,
                    .d_v = 12,
                    .heads = 4,
                    .kv_heads = 2,
                    .window = 2,
                    .pattern = "strided",
                    .block = 3,
                    .rank = 3,
                    .features = 10},
                   sharpen_queries_and_keys,
                   {"flash/output", "full/output", "local/output", "sliding/output", "sparse/output",
                    "linear/output", "linear/causal/output", "chunked/output", "linformer/output",
                    "performer/output", "gqa/output"}},
    .run = run_efficient,
};

}  // namespace lessons
