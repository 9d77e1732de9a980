/// How much each layer computes, holds and waits as the sequence grows. The lesson is the document
/// complexity.md, whose formulas are held against what is counted here while the layers run. Source: Vaswani
/// et al. 2017, "Attention Is All You Need", section 4 and table 1.

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>

#include "lessons/complexity/layers.hpp"
#include "lessons/documents/front_matter.hpp"
#include "lessons/lesson.hpp"

namespace lessons {

namespace {

std::size_t longest_of(const Options& options) {
  return *std::max_element(options.lengths.begin(), options.lengths.end());
}

/// Half of the last length, which is counted anyway, or all of it where half has no whole block.
std::size_t length_to_double(const Options& options) {
  constexpr std::size_t long_length = 256;
  const auto last = options.lengths.back();
  const bool has_half = last % 2 == 0 && *options.block <= last / 2;
  return has_half || last > long_length ? last / 2 : last;
}

/// What these layers took on sequences of these sizes: [quantity×layer×size].
formula::View counts_of(LayerCosts& costs, const std::vector<std::string_view>& layers,
                        const std::vector<Size>& sizes) {
  constexpr std::size_t quantities = 4;
  formula::Numbers counts(attn::Shape{quantities, layers.size(), sizes.size()}, 0.0);
  for (std::size_t k = 0; k < layers.size(); ++k)
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const auto& cost = costs.of(layers[k], sizes[i]);
      const std::array<std::int64_t, quantities> of_layer = {cost.cost.multiply_adds, cost.cost.score_bytes,
                                                             cost.sequential_steps, cost.path_length};
      for (std::size_t j = 0; j < quantities; ++j) counts(j, k, i) = static_cast<double>(of_layer[j]);
    }
  return owned_view(std::move(counts));
}

/// For each layer the n from which on full attention takes more multiply-adds, as the formulas have it:
/// [layer]. 0 where that is not so from there on, or where they have none.
formula::View counted_crossings(LayerCosts& costs, const DocumentRun& run) {
  const auto& layers = counted_layers();
  formula::Numbers places(attn::Shape{layers.size()}, 0.0);
  for (std::size_t k = 0; k < layers.size(); ++k) {
    const auto* first = run.sheet().find(std::string(layers[k]) + "/first");
    if (first == nullptr || !std::isfinite(first->at({}))) continue;
    const auto n = static_cast<std::size_t>(first->at({}));
    const bool begins_there = n < 2 || !costs.takes_less(layers[k], {n - 1, run.bench().d_model()});
    if (costs.takes_less(layers[k], {n, run.bench().d_model()}) && begins_there)
      places(k) = static_cast<double>(n);
  }
  return owned_view(std::move(places));
}

/// The options as the document's formulas call them, and which layers full attention overtakes.
void set_names(DocumentRun& run, const Options& options, LayerCosts& costs) {
  const auto set = [&](const char* name, std::size_t count) { run.set(name, static_cast<double>(count)); };
  set("longest", longest_of(options));
  set("doubled", length_to_double(options));
  const auto& layers = counted_layers();
  for (const auto layer : layers)
    run.set(std::string(layer) + "/crosses",
            costs.takes_less(layer, {longest_of(options), run.bench().d_model()}));
  run.axis("all/layer", layers.size());
  run.bench().trace.label("all/layer", {{std::vector<std::string>(layers.begin(), layers.end())}});
}

void run_complexity(Workbench& bench) {
  const auto& options = bench.options;
  LayerCosts costs(bench);
  const auto d = bench.d_model(), first = options.lengths.front(), half = length_to_double(options);
  const auto counted = [&](DocumentRun&) {
    std::vector<Size> sizes;
    for (const auto n : options.lengths) sizes.push_back({n, d});
    return counts_of(costs, counted_layers(), sizes);
  };
  const auto counted_by_d = [&](DocumentRun&) {
    return counts_of(costs, counted_layers(), {{first, d}, {first, 2 * d}, {first, 4 * d}});
  };
  const auto counted_longer = [&](DocumentRun&) {
    return counts_of(costs, {"recurrence", "full", "linear", "flash"}, {{half, d}, {2 * half, d}});
  };
  const auto counted_wider = [&](DocumentRun&) {
    return counts_of(costs, {"recurrence", "full"}, {{half, d}, {half, 2 * d}});
  };
  const Functions functions = {
      .tensors = {{"counted", counted},
                  {"counted_by_d", counted_by_d},
                  {"counted_longer", counted_longer},
                  {"counted_wider", counted_wider},
                  {"counted_crossings", [&](DocumentRun& run) { return counted_crossings(costs, run); }}}};
  DocumentRun run(bench, functions);
  set_names(run, options, costs);
  run.tell();
}

}  // namespace

const LessonCode complexity_code = {.run = run_complexity};

}  // namespace lessons
