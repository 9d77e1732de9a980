/// Attention for long sequences. The lesson is the document efficient.md; here stand the claims that hold its
/// formulas against code that computes the listed pairs, tiles, chunks and sums alone, and against the fast
/// kernels.

#include "lessons/efficient.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <utility>

#include "attn/error.hpp"
#include "attn/ops/mask.hpp"
#include "attn/ops/matmul.hpp"
#include "attn/ops/measure.hpp"
#include "attn/ops/slice.hpp"
#include "attn/worked.hpp"
#include "lessons/documents/front_matter.hpp"
#include "lessons/documents/part_run.hpp"
#include "lessons/efficient/comparison.hpp"
#include "lessons/efficient/variants.hpp"
#include "lessons/lesson.hpp"
#include "lessons/sdpa.hpp"
#include "lessons/workbench/claims.hpp"
#include "lessons/workbench/sharpen.hpp"

namespace lessons {

namespace {

/// In the order of the lesson.
const std::vector<std::string> variants = {"local", "sliding",   "sparse",    "linear", "chunked",
                                           "flash", "linformer", "performer", "gqa"};

/// Why a variant cannot be shown with these options and what would be valid; empty where it can.
struct Obstacle {
  std::string reason, valid;
};

Obstacle obstacle_to(std::string_view variant, const Options& options) {
  if (variant == "linformer" && options.causal)
    return {"--causal goes with no --variant linformer, which mixes all the keys before any query sees them",
            "--variant performer, or no --causal"};
  const auto heads = options.heads.value_or(1);
  for (const auto& [flag, width] : {std::pair("d-k", *options.d_k), std::pair("d-v", *options.d_v)})
    if (variant == "gqa" && width % heads != 0)
      return {fmt::format("--{} {} cannot be cut into --heads {} of one width", flag, width, heads),
              fmt::format("--{} {} or another multiple of {}", flag, (width / heads + 1) * heads, heads)};
  return {};
}

void require_possible(const Options& options) {
  const auto [reason, valid] = obstacle_to(options.variant, options);
  if (!reason.empty()) throw attn::Error(fmt::format("{}; valid: {}", reason, valid));
}

std::optional<Mask<2>> read_pattern(const Plan& plan) {
  const auto& pattern = *plan.options.pattern;
  const bool is_file = pattern != "strided" && pattern != "fixed" && pattern != "random";
  const bool is_wanted = plan.options.variant == "sparse" || plan.options.variant == "all";
  if (!is_file || !is_wanted) return std::nullopt;
  if (!std::filesystem::exists(pattern))
    throw attn::Error(
        fmt::format("--pattern {} is no pattern, and there is no file of that name; valid: strided, fixed, "
                    "random or FILE",
                    pattern));
  return attn::load_pattern(pattern, plan.sentence.length());
}

std::size_t block_of(const Workbench& bench) {
  return std::min(*bench.options.block, bench.plan.sentence.length());
}

std::size_t block_count(const Workbench& bench) {
  return (bench.plan.sentence.length() + block_of(bench) - 1) / block_of(bench);
}

/// The tokens of each block: "0–2", "3–5".
std::vector<std::string> names_of_blocks(const Workbench& bench) {
  const auto n = bench.plan.sentence.length(), block = block_of(bench);
  std::vector<std::string> names;
  for (std::size_t begin = 0; begin < n; begin += block) {
    const auto last = std::min(begin + block, n) - 1;
    names.push_back(begin == last ? fmt::format("{}", begin) : fmt::format("{}–{}", begin, last));
  }
  return names;
}

KeyLists visible_keys(const Workbench& bench) {
  const auto n = bench.plan.sentence.length();
  return bench.options.causal ? attn::window_keys(n, n, 0) : attn::all_keys(n, n);
}

/// How many pairs a chunk has at most.
std::size_t pairs_of_largest_chunk(const Workbench& bench) {
  const auto n = bench.plan.sentence.length(), chunk = block_of(bench);
  if (!bench.options.causal) return chunk * n;
  std::size_t most = 0;
  for (std::size_t begin = 0; begin < n; begin += chunk) {
    const auto end = std::min(begin + chunk, n);
    most = std::max(most, (end * (end + 1) - begin * (begin + 1)) / 2);
  }
  return most;
}

/// How often a query meets a block of keys after its first: its sums so far are multiplied then.
std::size_t rescalings(const Workbench& bench) {
  const auto n = bench.plan.sentence.length(), block = block_of(bench);
  if (!bench.options.causal) return n * (block_count(bench) - 1);
  std::size_t count = 0;
  for (std::size_t i = 0; i < n; ++i) count += i / block;
  return count;
}

void set_names(DocumentRun& run) {
  const auto& bench = run.bench();
  const auto& options = bench.options;
  const auto n = bench.plan.sentence.length(), w = *options.window, after = options.causal ? 0 : w;
  const auto set = [&](const char* name, std::size_t count) { run.set(name, static_cast<double>(count)); };
  set("w", w);
  set("b", block_of(bench));
  set("longest", *options.block);
  set("full/pairs", options.causal ? n * (n + 1) / 2 : n * n);
  set("local/pairs", attn::pair_count(attn::window_keys(n, w, after)));
  set("sliding/pairs", attn::pair_count(attn::window_keys(n, w, 0)));
  set("chunk_pairs", pairs_of_largest_chunk(bench));
  set("rescaled", rescalings(bench));
  set("strided", options.pattern == "strided");
  set("fixed", options.pattern == "fixed");
  set("random", options.pattern == "random");
  set("fits", obstacle_to("gqa", options).reason.empty());
  run.axis("variant", variants.size());
  bench.trace.label("variant", {{variants}});
  bench.trace.label("block", {{names_of_blocks(bench)}});
}

double number(const DocumentRun& run, const std::string& name) {
  return run.sheet().tensor(name).at({});
}

/// What a run of the lesson has shown so far, for what is said of it. What does not change is found once.
class BenchOfRun {
 public:
  VariantBench& operator()(const DocumentRun& run) {
    if (!on_) begin(run);
    on_->shown.clear();
    add(run, "full");
    for (const auto& name : variants) add(run, name);
    return *on_;
  }

 private:
  void begin(const DocumentRun& run) {
    auto Q = run.copy_of<double, 2>("Q"), K = run.copy_of<double, 2>("K"), V = run.copy_of<double, 2>("V");
    const double magnitude =
        magnitude_of_scores(Q, K, std::sqrt(static_cast<double>(K.shape(1)))) * attn::max_abs(V);
    on_.emplace(VariantBench{run.bench(), std::move(Q), std::move(K), std::move(V), visible_keys(run.bench()),
                             magnitude});
  }

  void add(const DocumentRun& run, const std::string& name) {
    if (run.sheet().find(name + "/score_bytes") == nullptr) return;
    const bool has_error = run.sheet().find(name + "/error") != nullptr;
    on_->shown.push_back({name,
                          {static_cast<std::int64_t>(number(run, name + "/multiply_adds")),
                           static_cast<std::int64_t>(number(run, name + "/score_bytes"))},
                          has_error ? number(run, name + "/error") : 0.0,
                          has_error ? number(run, name + "/relative_error") : 0.0});
  }

  std::optional<VariantBench> on_;
};

std::string variant_on_page(const Workbench& bench) {
  return bench.options.variant == "all" ? "flash" : bench.options.variant;
}

/// The pairs of a pattern as lines of NumPy: `rows` of 0 and 1, a row a query.
std::string rows_of_pattern(const DocumentRun& run) {
  const auto chosen = run.copy_of<double, 2>("sparse/chosen");
  std::string rows;
  for (std::size_t i = 0; i < chosen.shape(0); ++i) {
    rows += "\n";
    for (std::size_t j = 0; j < chosen.shape(1); ++j) rows += chosen(i, j) == 0.0 ? '0' : '1';
  }
  return rows.substr(1);
}

/// The pairs of a pattern that no formula makes, before --causal takes some: [query×key].
formula::View chosen_pairs(DocumentRun& run, const std::optional<Mask<2>>& of_file) {
  auto& bench = run.bench();
  const auto n = bench.plan.sentence.length();
  const auto mask =
      of_file ? *of_file : attn::random_pattern(bench.random("sparse/mask"), n, *bench.options.block);
  formula::Numbers numbers(attn::Shape{n, n});
  std::copy(mask.begin(), mask.end(), numbers.begin());
  return formula::view_of({}, std::make_shared<const formula::Numbers>(std::move(numbers)));
}

/// What the tiles and the running softmax save.
void show_savings(DocumentRun& run) {
  if (run.bench().is_mute()) return;
  const auto& bench = run.bench();
  const auto& rescaling = run.sheet().tensor("flash/rescaling");
  const auto n = bench.plan.sentence.length(), blocks = block_count(bench), block = block_of(bench),
             width = bench.d_v() + 2;
  std::size_t first = 0, raised = 0, unchanged = 0;
  for (std::size_t b = 0; b < blocks; ++b)
    for (std::size_t i = bench.options.causal ? b * block : 0; i < n; ++i)
      ++(b == 0 ? first : rescaling.at({b, i}) == 1.0 ? unchanged : raised);
  const auto tiles = bench.options.causal ? blocks * (blocks + 1) / 2 : blocks * blocks;
  bench.trace.note(
      "flash/savings", "What it saves, counted on this run",
      fmt::format(
          "{}Where a block brings no larger score, c is 1 and there is nothing to rescale. The code here "
          "multiplies by it all the same; the fast kernels of attnlab bench do not. Kernel simd changes the "
          "maximum only when a score passes it by far: weights above 1 change no quotient.",
          blocks == 1 ? "Here one tile holds the whole table, which saves nothing: try a smaller --block. "
          : bench.options.causal
              ? "A tile in which nothing may be seen is skipped: nearly half of them, once n is large. "
              : ""),
      fmt::format("tiles        {} computed, {} skipped\n"
                  "scores       {} held at one time, {} in full attention\n"
                  "m, l and o   {} numbers, {} for each query of a tile, whatever n is\n"
                  "blocks met   {} first, {} that raised m, {} with c = 1",
                  tiles, blocks * blocks - tiles, block * block, attn::pair_count(visible_keys(bench)),
                  block * width, width, first, raised, unchanged));
}

/// Whether half the words are compared with all, and not all with twice as many, which takes long.
bool compares_half(const VariantBench& on, std::size_t block) {
  constexpr std::size_t many_words = 64;
  return on.n() > many_words && on.n() / 2 >= block;
}

/// What flash attention gives, and what it takes.
const std::pair<Tensor<2>, attn::Cost>& tiles_of(VariantBench& on) {
  if (on.tiles) return *on.tiles;
  auto counter = on.counter();
  auto output = flash_attention(on.Q, on.K, on.V, block_of(on.bench), on.causal(), counter);
  on.tiles = std::pair(std::move(output), counter.cost());
  return *on.tiles;
}

void claim_flash_memory(DocumentRun& run, VariantBench& on) {
  const auto block = block_of(run.bench());
  const bool is_half = compares_half(on, block);
  const auto other = [&](const Tensor<2>& x) {
    return is_half ? attn::rows(x, 0, on.n() / 2) : attn::stack_rows(x, x);
  };
  auto changed = on.counter();
  flash_attention(other(on.Q), other(on.K), other(on.V), block, on.causal(), changed);
  const auto growth = static_cast<double>(changed.cost().score_bytes - tiles_of(on).second.score_bytes);
  run.bench().trace.claim({.id = "flash-memory",
                           .claim = "twice the words: additional scores that flash attention holds",
                           .formula = is_half ? "score_bytes − score_bytes for half the sequence"
                                              : "score_bytes for the sequence twice over − score_bytes",
                           .value = is_half ? -growth : growth,
                           .limit = attn::exactly(0.0)});
}

Tensor<2> output_of(const DocumentRun& run, const std::string& variant) {
  return run.copy_of<double, 2>(variant + "/output");
}

/// Claims that the lesson's output, and that of code which computes these pairs alone, is the one of full
/// attention under the variant's mask.
void claim_equals_mask(DocumentRun& run, VariantBench& on, const std::string& variant, const std::string& id,
                       const std::string& claim) {
  const auto mask = run.copy_of<bool, 2>(variant + "/mask");
  auto counter = on.counter();
  claim_equals_masked(
      on, id, claim,
      {output_of(run, variant), sparse_attention(on.Q, on.K, on.V, attn::keys_of(mask), counter)},
      output_under(on, mask));
}

void claim_equals_window_kernel(DocumentRun& run, VariantBench& on, const std::string& variant, bool causal) {
  claim_equals_exact_kernel(
      on, variant, "the fast kernel, which skips the tiles outside the window, gives the same output",
      output_of(run, variant), {.causal = causal, .window = *on.bench.options.window});
}

void claim_equals_block_kernel(DocumentRun& run, VariantBench& on) {
  const auto output = output_of(run, "sparse");
  const auto keys = attn::keys_of(run.copy_of<bool, 2>("sparse/mask"));
  claim_equals_kernel(
      on.bench.trace,
      {.id = "sparse-equals-kernel",
       .claim = "the fast kernel, given the pattern in blocks of 1 × 1, gives the same output",
       .formula = "max |sparse/output − kernel {}(Q, K, V)|",
       .limit = rounding(on.bench.trace, on.magnitude)},
      attn::max_abs(on.V),
      attn::fast::block_sparse_attention(on.Q, on.K, on.V, {.block = 1, .key_blocks = keys}),
      [&](const auto& fast) { return attn::max_abs_difference(output, fast.output); });
}

Features features_of(const DocumentRun& run, const std::string& variant) {
  return {variant, run.copy_of<double, 2>(variant + "/phi_Q"), run.copy_of<double, 2>(variant + "/phi_K")};
}

void claim_linear_kernel(DocumentRun& run, VariantBench& on, const std::string& variant, bool causal) {
  claim_equals_linear_kernel(on, variant, features_of(run, "linear"), output_of(run, variant), causal);
}

void claim_all_weights(DocumentRun& run, VariantBench& on, const std::string& variant) {
  Tensor<2> mixtures({on.n(), on.V.shape(1)});
  const auto* const weights = static_cast<const double*>(run.sheet().tensor(variant + "/weights").data);
  attn::multiply(weights, on.V.data(), mixtures.data(), on.n(), on.n(), on.V.shape(1));
  claim_equals_all_weights(on, features_of(run, variant), mixtures, output_of(run, variant));
}

void claim_chunked(DocumentRun& run, VariantBench& on) {
  auto counter = on.counter();
  claim_equals_masked(on, "chunked-is-exact", "chunked attention is exact",
                      {output_of(run, "chunked"),
                       chunked_attention(on.Q, on.K, on.V, on.visible, block_of(run.bench()), counter)});
}

void claim_flash(DocumentRun& run, VariantBench& on) {
  claim_equals_masked(on, "flash-is-exact", "flash attention is exact",
                      {output_of(run, "flash"), tiles_of(on).first});
}

void claim_linformer(VariantBench& on) {
  Tensor<2> identity({on.n(), on.n()}, 0.0);
  for (std::size_t i = 0; i < on.n(); ++i) identity(i, i) = 1.0;
  auto counter = on.counter();
  claim_equals_masked(on, "linformer-without-mixing", "with E = F = I and r = n Linformer is full attention",
                      {linformer_attention(on.Q, on.K, on.V, identity, identity, counter)});
}

/// Q cut into heads, and the keys and values that groups share.
struct Grouped {
  Tensor<4> Q, K, V;
};

Grouped grouped(const VariantBench& on) {
  const auto heads = on.bench.heads(), kv_heads = on.bench.kv_heads();
  const auto split = [&](const Tensor<2>& x) { return attn::split_heads(attn::as_batch(x), heads); };
  return {split(on.Q), group_means(split(on.K), kv_heads), group_means(split(on.V), kv_heads)};
}

void claim_repeated_heads(DocumentRun& run, VariantBench& on) {
  const auto [Q, K, V] = grouped(on);
  auto counter = on.counter();
  const auto all_heads = [&](const Tensor<4>& x) { return attn::repeat_heads(x, on.bench.heads()); };
  const auto each_alone = [](const Tensor<4>& x) {  // a head as a sample
    Tensor<3> samples({x.shape(1), x.shape(2), x.shape(3)});
    std::copy(x.begin(), x.end(), samples.begin());
    return samples;
  };
  const auto q = each_alone(Q), k = each_alone(all_heads(K)), v = each_alone(all_heads(V));
  const std::optional<Mask<3>> mask = attn::repeat_mask(on.visible_mask(), 1);
  PartRun run_alone(on.bench);
  tell_attention(run_alone, q, k, v, mask);
  const auto alone = run_alone.take<3>("output");
  Tensor<4> together({1, alone.shape(0), alone.shape(1), alone.shape(2)});
  std::copy(alone.begin(), alone.end(), together.begin());
  const auto repeated = attn::merge_heads(together);
  const auto in_place = grouped_attention(Q, K, V, on.visible, counter);
  on.bench.trace.claim(
      {.id = "gqa-equals-repeated-heads",
       .claim = "reading a shared head in place equals repeating it for its group",
       .formula = "max |heads − multihead(K and V repeated)|",
       .value = attn::maximum({attn::max_abs_difference(attn::as_batch(output_of(run, "gqa")), repeated),
                               attn::max_abs_difference(in_place, repeated)}),
       .limit = rounding(on.bench.trace, on.magnitude)});
}

void claim_grouped_kernel(DocumentRun& run, VariantBench& on) {
  const auto [Q, K, V] = grouped(on);
  const auto output = attn::as_batch(output_of(run, "gqa"));
  claim_equals_kernel(
      on.bench.trace,
      {.id = "gqa-equals-kernel",
       .claim = "the fast kernel, which does not copy shared keys and values, gives the same output",
       .formula = "max |gqa/output − kernel {}(Q, K, V)|",
       .limit = rounding(on.bench.trace, on.magnitude)},
      attn::max_abs(on.V),
      attn::fast::attention(Q, K, V, std::sqrt(static_cast<double>(Q.shape(3))), {.causal = on.causal()}),
      [&](const auto& fast) { return attn::max_abs_difference(output, attn::merge_heads(fast.output)); });
}

/// The state after the last token, whose number is in its id.
void show_last_state(DocumentRun& run) {
  const auto n = run.bench().plan.sentence.length();
  if (n <= 2) return;
  const attn::Known phi_K = {std::string("linear/phi_K"), run.copy_of<double, 2>("linear/phi_K")};
  const attn::Known V = {std::string("V"), run.copy_of<double, 2>("V")};
  const auto worked = [=](const attn::Index& at) {
    std::vector<attn::Worked> products;
    for (std::size_t j = 0; j < n; ++j)
      products.push_back(attn::Worked::product({phi_K({j, at[0]}), V({j, at[1]})}));
    return attn::Worked::sum(std::move(products));
  };
  run.bench().trace.step({.id = fmt::format("linear/causal/token={}/S", n),
                          .title = fmt::format("Causal linear attention: the state after token {}", n),
                          .formula = "Σⱼ φ(kⱼ) vⱼᵀ",
                          .from = {"linear/phi_K", "V"},
                          .axes = {"feature", "d_v"},
                          .worked = worked},
                         attn::matmul(attn::transpose(phi_K.tensor), V.tensor));
}

void set_magnitude(DocumentRun& run, const VariantBench& on) {
  run.set("negligible", rounding(on.bench.trace, on.magnitude).bound);
}

void skip_grouped(DocumentRun& run) {
  const auto obstacle = obstacle_to("gqa", run.bench().options);
  run.bench().trace.note("gqa/skipped", "gqa: left out",
                         fmt::format("{}. It can be shown with {}.", obstacle.reason, obstacle.valid));
}

/// Notes and claims that need what the run has shown so far.
std::map<std::string, std::function<void(DocumentRun& run, VariantBench& on)>> actions_on_bench() {
  using Run = DocumentRun;
  using On = VariantBench;
  return {
      {"magnitude", set_magnitude},
      {"flash-is-exact", claim_flash},
      {"flash-memory", claim_flash_memory},
      {"sparse-equals-kernel", claim_equals_block_kernel},
      {"chunked-is-exact", claim_chunked},
      {"linformer-without-mixing", [](Run&, On& on) { claim_linformer(on); }},
      {"gqa-equals-repeated-heads", claim_repeated_heads},
      {"gqa-equals-kernel", claim_grouped_kernel},
      {"comparison", [](Run&, On& on) { compare_variants(on); }},
      {"local-equals-band-mask",
       [](Run& run, On& on) {
         claim_equals_mask(run, on, "local", "local-equals-band-mask",
                           "local equals full attention in which a mask hides all but the near keys");
       }},
      {"sliding-equals-band-mask",
       [](Run& run, On& on) {
         claim_equals_mask(run, on, "sliding", "sliding-equals-band-mask",
                           "sliding windows equal full attention under the mask of the windows");
       }},
      {"sparse-equals-pattern-mask",
       [](Run& run, On& on) {
         claim_equals_mask(run, on, "sparse", "sparse-equals-pattern-mask",
                           "sparse attention equals full attention under the pattern as a mask");
       }},
      {"local-equals-kernel",
       [](Run& run, On& on) { claim_equals_window_kernel(run, on, "local", on.causal()); }},
      {"sliding-equals-kernel",
       [](Run& run, On& on) { claim_equals_window_kernel(run, on, "sliding", true); }},
      {"linear-equals-all-weights", [](Run& run, On& on) { claim_all_weights(run, on, "linear"); }},
      {"performer-equals-all-weights", [](Run& run, On& on) { claim_all_weights(run, on, "performer"); }},
      {"linear-equals-kernel", [](Run& run, On& on) { claim_linear_kernel(run, on, "linear", on.causal()); }},
      {"linear/causal-equals-kernel",
       [](Run& run, On& on) { claim_linear_kernel(run, on, "linear/causal", true); }},
      {"causal-linear-equals-recurrence",
       [](Run& run, On& on) {
         claim_equals_recurrence(on, features_of(run, "linear"), output_of(run, "linear/causal"));
       }},
      {"flash-equals-kernel",
       [](Run& run, On& on) {
         claim_equals_exact_kernel(on, "flash", "the compiled code of attnlab bench gives the same",
                                   output_of(run, "flash"), {.causal = on.causal()});
       }},
  };
}

Functions functions_of(const std::optional<Mask<2>>& pattern_of_file, BenchOfRun& bench_of) {
  Functions functions;
  functions.actions = {
      {"flash/savings", show_savings}, {"last_state", show_last_state}, {"gqa/skipped", skip_grouped}};
  for (auto& [name, action] : actions_on_bench())
    functions.actions[name] = [&bench_of, action = action](DocumentRun& run) { action(run, bench_of(run)); };
  functions.texts = {{"name", [](const DocumentRun& run) { return variant_on_page(run.bench()); }},
                     {"rows_of_pattern", rows_of_pattern}};
  functions.tensors["chosen_pairs"] = [&](DocumentRun& run) { return chosen_pairs(run, pattern_of_file); };
  return functions;
}

void run_efficient(Workbench& bench) {
  require_possible(bench.options);
  const auto pattern = read_pattern(bench.plan);
  BenchOfRun bench_of;
  const auto functions = functions_of(pattern, bench_of);
  DocumentRun run(bench, functions);
  set_names(run);
  run.tell();
}

}  // namespace

const Lesson& efficient_lesson() {
  static const auto lesson =
      lesson_of("efficient", {.sharpen = sharpen_queries_and_keys, .run = run_efficient});
  return lesson;
}

}  // namespace lessons
