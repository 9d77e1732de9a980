/// What the variants of attention cost and get wrong, side by side.

#include "lessons/efficient/comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace lessons {

namespace {

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

}  // namespace

void compare_variants(const VariantBench& on) {
  auto& trace = on.bench.trace;
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

}  // namespace lessons
