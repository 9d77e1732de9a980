/// Attention for long sequences. The lesson is the document efficient.md; here stand patterns that no formula
/// makes, and the table of all variants.

#include "lessons/efficient.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attn/error.hpp"
#include "lessons/documents/front_matter.hpp"
#include "lessons/lesson.hpp"

namespace lessons {

namespace {

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

void run_efficient(Workbench& bench) {
  const auto pattern = read_pattern(bench.plan);
  Functions functions = {
      .actions = {{"comparison", compare_variants}},
      .texts = {{"rows_of_pattern", rows_of_pattern}},
      .tensors = {{"chosen_pairs", [&](DocumentRun& run) { return chosen_pairs(run, pattern); }}}};
  add_claims_of_variants(functions);
  DocumentRun(bench, functions).tell();
}

}  // namespace

const LessonCode efficient_code = {.sharpen = sharpen_queries_and_keys, .run = run_efficient};

}  // namespace lessons
