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
#include "lessons/efficient/comparison.hpp"
#include "lessons/efficient/variants.hpp"
#include "lessons/lesson.hpp"
#include "lessons/sdpa.hpp"
#include "lessons/workbench/claims.hpp"
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

std::string what_a_prime_says(const attn::Event&) {
  return "m, l, o stand one line up in the table; m′, l′, o′ in the block's own line.";
}

const std::vector<Variant> variants = {
    {"local", show_local, page_of_pairs("local"), {"local-equals-band-mask", "local-equals-kernel"}},
    {"sliding",
     show_sliding,
     page_of_pairs("sliding"),
     {"sliding-equals-band-mask", "sliding-equals-kernel"}},
    {"sparse", show_sparse, page_of_pairs("sparse"), {"sparse-equals-pattern-mask", "sparse-equals-kernel"}},
    {"linear",
     show_linear,
     page_of_features("linear"),
     {"linear-equals-all-weights", "causal-linear-equals-recurrence", "linear-equals-kernel"}},
    {"chunked", show_chunked, {{"chunked/output"}, {"chunked/checkpointing"}}, {"chunked-is-exact"}},
    {"flash",
     show_flash,
     {{"flash/scores"},
      {"flash/one-query"},
      attn::without_table("flash/maximum", what_a_prime_says),
      attn::without_table("flash/rescaling", nullptr),
      attn::without_table("flash/sum", nullptr),
      attn::without_table("flash/accumulated", nullptr),
      attn::without_table("flash/output", nullptr),
      {"flash/memory"}},
     {"flash-is-exact", "flash-memory"}},
    {"linformer",
     show_linformer,
     {attn::in_one_line("linformer/E"),
      attn::in_one_line("linformer/F"),
      {"linformer/projected_K"},
      attn::in_one_line("linformer/projected_V"),
      {"linformer/weights"},
      {"linformer/output"}},
     {"linformer-without-mixing"}},
    {"performer",
     show_performer,
     joined_pages({attn::in_one_line("performer/omega")}, page_of_features("performer")),
     {"performer-equals-all-weights"}},
    {"gqa",
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
  std::vector<attn::OnPage> page = {{"idea"}, {name + "/idea"}, {"flow"}, {name + "/code"}};
  for (const auto* id : {"Q", "K", "V"}) page.push_back(attn::in_one_line(id));
  page = joined_pages(std::move(page), variant.page);
  if (name == "local" || name == "sliding" || name == "sparse") page.push_back({"patterns"});
  trace.page(joined_pages(std::move(page), {{"variants"}, {"comparison"}, {"counts"}}), variant.claims);
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
  const auto& options = bench.options;
  bench.idea(
      fmt::format(
          "Full attention, softmax(Q Kᵀ / √d_k) V, computes a score for every pair of tokens: 10 000 000 000 "
          "for 100 000 tokens, in every head and layer. There are four ways to need less. This page works "
          "out {} for Q, K and V that are drawn (or given), {}:",
          variant_on_page(options).name,
          options.variant == "all" ? "then compares all" : "and compares it with full attention"),
      "compute fewer scores               local, sliding, sparse\n"
      "first sum over all keys            linear, performer, linformer\n"
      "hold few scores at a time          chunked, flash\n"
      "let heads share keys and values    gqa (grouped-query attention)");
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
                  "which rounding alone explains, is shown as 0. Of drawn numbers no token is "
                  "closer to its neighbours than to any other, so errors are larger on them than they are on "
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

void show_patterns(VariantBench& on) {
  constexpr std::size_t most = 8;
  std::vector<std::pair<std::string, Mask<2>>> masks = {{"full", on.visible_mask()}};
  masks.insert(masks.end(), on.patterns.begin(), on.patterns.end());
  if (masks.size() == 1) return;
  on.bench.trace.note("patterns", "Which pairs are left out",
                      fmt::format("A row is a query, a column a key: █ computed, · left out.{}",
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
  compare_variants(on, variant_on_page(options).name);
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
