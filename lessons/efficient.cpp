/// Attention for long sequences. The lesson is the document efficient.md; here stand patterns that no formula
/// makes, the table of all variants, and what holds the formulas against code that computes no more than it
/// has to.

#include "lessons/efficient.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>
#include <xtensor/xbuilder.hpp>
#include <xtensor/xmanipulation.hpp>

#include "attn/error.hpp"
#include "attn/ops/measure.hpp"
#include "attn/ops/slice.hpp"
#include "fast/attention.hpp"
#include "lessons/documents/front_matter.hpp"
#include "lessons/workbench/claims.hpp"

namespace lessons {

namespace {

/// What the variants of attention are measured against.
struct Full {
  Workbench& bench;
  Tensor<2> Q, K, V;       ///< [query×d_k], [key×d_k], [key×d_v]
  KeyLists visible{};      ///< the pairs of full attention: all, or none that look ahead
  double magnitude = 0.0;  ///< of what rounding is relative to

  std::size_t n() const { return Q.shape(0); }
  double root() const { return std::sqrt(static_cast<double>(K.shape(1))); }
  std::size_t block() const { return std::min(*bench.options.block, n()); }
  bool causal() const { return bench.options.causal; }
  attn::Limit rounding() const { return lessons::rounding(bench.trace, magnitude); }

  /// Counts scores as numbers of the run's dtype.
  CostCounter counter() const { return CostCounter(bench.trace.dtype()); }
};

Full full_of(const DocumentRun& run) {
  auto& bench = run.bench();
  Full full = {.bench = bench,
               .Q = run.copy_of<double, 2>("Q"),
               .K = run.copy_of<double, 2>("K"),
               .V = run.copy_of<double, 2>("V")};
  const auto n = full.n();
  full.visible = full.causal() ? attn::window_keys(n, n, 0) : attn::all_keys(n, n);
  full.magnitude = magnitude_of_scores(full.Q, full.K, full.root()) * attn::max_abs(full.V);
  return full;
}

/// Q cut into heads, and the keys and values that groups share, [1×head×n×d].
struct Grouped {
  Tensor<4> Q, K, V;
};

Grouped grouped(const DocumentRun& run) {
  const auto heads_of = [&](const char* name) -> Tensor<4> {
    return xt::expand_dims(run.copy_of<double, 3>(name), 0);
  };
  return {heads_of("gqa/queries"), heads_of("gqa/K_grouped"), heads_of("gqa/V_grouped")};
}

/// How many more bytes of scores flash attention holds for a sequence than for half of it, or for one of few
/// words twice over than for itself.
double growth_of_flash(const Full& full) {
  constexpr std::size_t many_words = 64;  // twice as many take long: half of them are compared then
  const auto n = full.n();
  const bool is_half = n > many_words && n / 2 >= full.block();
  const auto other = [&](const Tensor<2>& x) {
    return is_half ? attn::rows(x, 0, n / 2) : Tensor<2>(xt::concatenate(xt::xtuple(x, x)));
  };
  const auto held = [&](const Tensor<2>& Q, const Tensor<2>& K, const Tensor<2>& V) {
    auto counter = full.counter();
    flash_attention(Q, K, V, full.block(), full.causal(), counter);
    return static_cast<double>(counter.cost().score_bytes);
  };
  const double growth = held(other(full.Q), other(full.K), other(full.V)) - held(full.Q, full.K, full.V);
  return is_half ? -growth : growth;
}

/// What the features φ(Q) and φ(K) of a variant amount to where the keys are summed up first.
Tensor<2> summed_first(const DocumentRun& run, const Full& full, const std::string& variant, bool is_causal,
                       CostCounter& counter) {
  const auto sum = is_causal ? causal_linear_attention : linear_attention;
  return sum(run.copy_of<double, 2>(variant + "/phi_Q"), run.copy_of<double, 2>(variant + "/phi_K"), full.V,
             counter);
}

/// `do equals-kernel local`: the fastest kernel that fits gives the variant's output, too.
void claim_equals_kernel_of_variant(const DocumentRun& run, const Full& full, const ToClaim& claim) {
  auto& trace = full.bench.trace;
  const auto output = run.copy_of<double, 2>(claim.of + "/output");
  const auto compare = [&](const auto& fast, const attn::Limit& limit, const auto& difference) {
    claim_equals_kernel(trace,
                        {.id = claim.id,
                         .claim = claim.words,
                         .formula = "max |" + claim.of + "/output − kernel {}(Q, K, V)|",
                         .limit = limit},
                        attn::max_abs(full.V), fast, difference);
  };
  const auto difference = [&](const auto& fast) { return attn::max_abs_difference(output, fast.output); };
  if (claim.of.starts_with("linear")) {
    const bool is_causal = full.causal() || claim.of == "linear/causal";
    return compare(attn::fast::linear_attention(run.copy_of<double, 2>("linear/phi_Q"),
                                                run.copy_of<double, 2>("linear/phi_K"), full.V, is_causal),
                   rounding(trace, std::sqrt(static_cast<double>(full.n())) * attn::max_abs(full.V)),
                   difference);
  }
  if (claim.of == "sparse") {
    const auto keys = attn::keys_of(run.copy_of<bool, 2>("sparse/mask"));
    return compare(
        attn::fast::block_sparse_attention(full.Q, full.K, full.V, {.block = 1, .key_blocks = keys}),
        full.rounding(), difference);
  }
  if (claim.of == "gqa") {
    const auto [Q, K, V] = grouped(run);
    const double root = std::sqrt(static_cast<double>(Q.shape(3)));
    return compare(attn::fast::attention(Q, K, V, root, {.causal = full.causal()}), full.rounding(),
                   [&](const auto& fast) {
                     return attn::max_abs_difference(attn::as_batch(output), attn::merge_heads(fast.output));
                   });
  }
  attn::fast::Visibility visible = {.causal = full.causal() || claim.of == "sliding"};
  if (claim.of != "flash") visible.window = *full.bench.options.window;
  compare(attn::fast::attention(attn::as_batch(full.Q), attn::as_batch(full.K), attn::as_batch(full.V),
                                full.root(), visible),
          full.rounding(),
          [&](const auto& fast) { return attn::max_abs_difference(attn::as_batch(output), fast.output); });
}

/// The claims that hold the formulas of the lesson against code that computes the listed pairs, tiles, chunks
/// and sums alone, and against the fast kernels; `{do magnitude}`: below which number an error is rounding.
void add_claims_of_variants(Functions& functions) {
  const auto full_once = once(full_of);
  functions.actions["magnitude"] = [full_once](DocumentRun& run) {
    run.set("negligible", full_once(run).rounding().bound);
  };
  // What code that computes no more than it has to makes of the same inputs.
  using Count = std::function<Tensor<2>(const DocumentRun& run, const Full& full, CostCounter& counter)>;
  const auto add = [&](const std::string& name, const Count& compute) {
    functions.tensors[name] = [full_once, compute](const DocumentRun& run) {
      const auto& full = full_once(run);
      auto counter = full.counter();
      return owned_view(compute(run, full, counter));
    };
  };
  for (const std::string variant : {"local", "sliding", "sparse"})
    add("pairs_of_" + variant, [variant](const auto& run, const auto& full, auto& counter) {
      const auto keys = attn::keys_of(run.template copy_of<bool, 2>(variant + "/mask"));
      return sparse_attention(full.Q, full.K, full.V, keys, counter);
    });
  for (const std::string variant : {"linear", "performer"})
    add("sums_of_" + variant, [variant](const auto& run, const auto& full, auto& counter) {
      return summed_first(run, full, variant, full.causal(), counter);
    });
  add("recurrence_of_linear", [](const auto& run, const auto& full, auto& counter) {
    return summed_first(run, full, "linear", true, counter);
  });
  add("in_chunks", [](const auto&, const auto& full, auto& counter) {
    return chunked_attention(full.Q, full.K, full.V, full.visible, full.block(), counter);
  });
  add("in_tiles", [](const auto&, const auto& full, auto& counter) {
    return flash_attention(full.Q, full.K, full.V, full.block(), full.causal(), counter);
  });
  add("without_mixing", [](const auto&, const auto& full, auto& counter) {
    const Tensor<2> one_key_each = xt::eye<double>(full.n());
    return linformer_attention(full.Q, full.K, full.V, one_key_each, one_key_each, counter);
  });
  add("in_groups", [](const auto& run, const auto& full, auto& counter) {
    const auto [Q, K, V] = grouped(run);
    return attn::sample(grouped_attention(Q, K, V, full.visible, counter), 0);
  });
  functions.tensors["growth_of_flash"] = [full_once](const DocumentRun& run) {
    return owned_view(std::vector{growth_of_flash(full_once(run))});
  };
  functions.claims["equals-kernel"] = [full_once](DocumentRun& run, const ToClaim& claim) {
    claim_equals_kernel_of_variant(run, full_once(run), claim);
  };
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

/// The pairs of a pattern that no formula makes, before --causal takes some: [query×key].
formula::View chosen_pairs(DocumentRun& run, const std::optional<Mask<2>>& of_file) {
  auto& bench = run.bench();
  const auto n = bench.plan.sentence.length();
  const auto mask =
      of_file ? *of_file : attn::random_pattern(bench.random("sparse/mask"), n, *bench.options.block);
  return owned_view(Tensor<2>(xt::cast<double>(mask)));
}

/// The pairs of a pattern as lines of NumPy: `rows` of 0 and 1, a row a query.
std::string rows_of_pattern(const DocumentRun& run) {
  const auto chosen = run.copy_of<double, 2>("sparse/chosen");
  std::string rows;
  for (std::size_t i = 0; i < chosen.shape(0); ++i) {
    rows += i == 0 ? "" : "\n";
    for (std::size_t j = 0; j < chosen.shape(1); ++j) rows += chosen(i, j) == 0.0 ? '0' : '1';
  }
  return rows;
}

/// The step `comparison/WHAT`: these two numbers of full attention and of the variants that the run has, in
/// the order of the idea: pairs left out, sums and mixtures, other orders, shared heads.
template <class Number>
void show_side_by_side(DocumentRun& run, const std::string& what,
                       const std::vector<std::pair<std::string, std::string>>& measures) {
  std::vector<std::string> shown, from, names;
  std::vector<Number> numbers;
  for (const std::string variant : {"full", "local", "sliding", "sparse", "linear", "performer", "linformer",
                                    "chunked", "flash", "gqa"}) {
    if (run.sheet().find(variant + "/score_bytes") == nullptr) continue;
    shown.push_back(variant);
    for (const auto& [id, name] : measures) {
      const auto* found = run.sheet().find(variant + id);
      if (found != nullptr) from.push_back(variant + id);
      numbers.push_back(found == nullptr ? Number{0} : static_cast<Number>(found->at({})));
    }
  }
  for (const auto& [id, name] : measures) names.push_back(name);
  attn::Array<Number, 2> table({shown.size(), measures.size()});
  std::copy(numbers.begin(), numbers.end(), table.begin());
  auto& trace = run.bench().trace;
  trace.label("variant", {{shown}});
  trace.label("measure", {{names}});
  trace.step({.id = "comparison/" + what,
              .title = fmt::format("The {} of the table side by side", what),
              .from = from,
              .axes = {"variant", "measure"}},
             std::move(table));
}

void compare_variants(DocumentRun& run) {
  show_side_by_side<double>(run, "errors", {{"/error", "error"}, {"/relative_error", "relative"}});
  show_side_by_side<std::int64_t>(run, "costs", {{"/multiply_adds", "mult-adds"}, {"/score_bytes", "bytes"}});
}

void prepare_efficient(DocumentRun& run, Functions& functions) {
  functions.actions["comparison"] = compare_variants;
  functions.texts["rows_of_pattern"] = rows_of_pattern;
  functions.tensors["chosen_pairs"] = [pattern = read_pattern(run.bench().plan)](DocumentRun& now) {
    return chosen_pairs(now, pattern);
  };
  add_claims_of_variants(functions);
}

}  // namespace

const LessonCode efficient_code = {.sharpen = sharpen_queries_and_keys, .prepare = prepare_efficient};

}  // namespace lessons
