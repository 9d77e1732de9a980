#include "lessons/sdpa/attention_parts.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "attn/error.hpp"
#include "attn/ops/dropout.hpp"
#include "attn/ops/measure.hpp"

namespace lessons {

void set_mask(DocumentRun& run, const std::optional<Mask<3>>& mask) {
  run.set("has_mask", mask.has_value());
  if (!mask) return;
  auto view = formula::view_of({"batch", "query", "key"}, attn::view_of(*mask));
  for (std::size_t i = 2; i-- > 0;)
    if (view.shape[i] == 1 && run.sheet().size_of(view.axes[i]) != 1) {
      view.axes.erase(view.axes.begin() + static_cast<std::ptrdiff_t>(i));
      view.shape.erase(view.shape.begin() + static_cast<std::ptrdiff_t>(i));
      view.strides.erase(view.strides.begin() + static_cast<std::ptrdiff_t>(i));
    }
  run.set("mask", std::move(view));
}

template <std::size_t N>
Attention<N> steps_of(const DocumentRun& run) {
  const auto& sheet = run.sheet();
  const auto step = [&](const std::string& name) { return run.copy_of<double, N>(name); };
  Attention<N> steps;
  steps.scores = step("scores");
  if (sheet.find("scaled") != nullptr) steps.scaled = step("scaled");
  if (sheet.definition_of("masked") != nullptr) steps.masked = step("masked");
  if (sheet.find("weights") != nullptr) steps.weights = step("weights");
  if (sheet.definition_of("dropped") != nullptr) steps.dropped = step("dropped");
  const auto* output = has_heads<N> ? "heads" : "output";
  if (sheet.find(output) != nullptr) steps.output = step(output);
  return steps;
}

namespace {

template <std::size_t N>
Integers<N> draw_dropout_mask(DocumentRun& run) {
  auto& bench = run.bench();
  const double p = bench.options.dropout;
  std::array<std::size_t, N> shape;
  const auto& weights = run.sheet().tensor("weights");
  std::copy(weights.shape.begin(), weights.shape.end(), shape.begin());
  const auto axes = axes_of<N>("query", "key");
  auto mask = bench.trace.input({.id = "dropout_mask",
                                 .title = "Which weights survive dropout",
                                 .formula = fmt::format("binomial(1, 1 − p), p = {:g}", p),
                                 .axes = {axes.begin() + 1, axes.end()},
                                 .note = "Each weight is kept (1) or dropped (0) by a draw of its own."},
                                attn::dropout_mask<N>(bench.random("dropout_mask"), p, shape));
  if (std::any_of(mask.begin(), mask.end(), [](std::int64_t kept) { return kept != 0 && kept != 1; }))
    throw attn::Error(fmt::format("{} has other elements than 0 and 1; valid: 1 for a weight that is kept",
                                  bench.trace.given_name("dropout_mask")));
  run.keep_whole("dropout_mask", axes, mask);
  return mask;
}

template <std::size_t N>
void warn_of_dropout(DocumentRun& run) {
  run.bench().trace.note(
      "dropout-at-inference", "These rows are no longer shares",
      fmt::format("With dropout a row need not sum to 1: the sums here are off by up to {:.4f}. That is "
                  "right in training, where it keeps the model from leaning on single tokens. Left on when a "
                  "model is used or looked at, it is a mistake: what you read as attention is partly chance. "
                  "Run again with --dropout 0 for the weights themselves.",
                  attn::row_sum_deviation(run.copy_of<double, N>("dropped"))));
}

}  // namespace

template <std::size_t N>
void add_dropout(Functions& functions, std::optional<Integers<N>>& mask) {
  functions.actions["dropout_mask"] = [&mask](DocumentRun& run) {
    if (run.bench().options.dropout > 0.0) mask = draw_dropout_mask<N>(run);
  };
  functions.actions["dropout-at-inference"] = [](DocumentRun& run) {
    if (run.bench().options.dropout > 0.0) warn_of_dropout<N>(run);
  };
}

#define INSTANTIATE(N)                                                \
  template void add_dropout(Functions&, std::optional<Integers<N>>&); \
  template Attention<N> steps_of(const DocumentRun&);
INSTANTIATE(3)
INSTANTIATE(4)
#undef INSTANTIATE

}  // namespace lessons
