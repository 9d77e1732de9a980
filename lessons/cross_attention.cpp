/// Cross-attention: the queries come from one sentence, the keys and values from another. The lesson is the
/// document cross-attention.md.
/// Sources: Bahdanau et al. 2014 (the idea, for translation); Vaswani et al. 2017, section 3.2.3 (this form).

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "attn/ops/measure.hpp"
#include "lessons/cross_attention/trained.hpp"
#include "lessons/documents/front_matter.hpp"
#include "lessons/lesson.hpp"
#include "lessons/multihead.hpp"
#include "lessons/sdpa/attention_parts.hpp"
#include "lessons/sdpa/fused_layouts.hpp"
#include "lessons/workbench/notice.hpp"
#include "lessons/workbench/sharpen.hpp"

namespace lessons {

namespace {

/// The source word that all target words together look at most; nothing of several heads, or where two are
/// the same but for rounding.
std::string most_looked_at(const attn::Event& weights) {
  const auto& shape = weights.tensor->shape;
  const std::size_t rank = shape.size(), n_q = shape[rank - 2], n_k = shape.back();
  const auto strongest = strongest_pair(weights);
  if (weights.axes.front() == "head" || n_k < 2) return strongest;
  std::vector<double> totals(n_k, 0.0);
  for (std::size_t i = 0; i < n_q * n_k; ++i) totals[i % n_k] += weights.tensor->at(i);
  auto sorted = totals;
  std::sort(sorted.rbegin(), sorted.rend());
  if (!(sorted[0] - sorted[1] > 1e-3)) return strongest;
  const auto most = attn::argmax(totals.data(), totals.size());
  return fmt::format(
      "{} Each row sums to 1. The column of \"{}\" sums to {:.2f}: all target words together look at it "
      "most.",
      strongest, name_along(weights, rank - 1, most), totals[most]);
}

std::string crossing_words(const attn::Event& weights) {
  const auto crossing = words_that_cross(weights, weights.tensor->shape[weights.axes.size() - 2]);
  return crossing.empty() ? "Here the words have one order in both languages." : crossing;
}

void run_cross_attention(Workbench& bench) {
  Functions functions;
  add_fused_layouts(functions);
  if (bench.options.heads) {
    add_fused_kernel<4>(functions);
    add_cross_attends_itself(functions, "X_target", "");
  } else {
    add_fused_kernel<3>(functions);
  }
  if (shows_trained_heads(bench.options)) add_trained_heads(functions, bench);
  functions.remarks["most_looked_at"] = most_looked_at;
  functions.remarks["words_that_cross"] = crossing_words;
  DocumentRun(bench, functions).tell();
}

void add_error_rates(Lesson& lesson) {
  lesson.inputs = [of_document = lesson.inputs](const Options& options) {
    auto inputs = of_document(options);
    if (shows_trained_heads(options)) inputs.push_back(error_rates_input());
    return inputs;
  };
}

}  // namespace

const Lesson& cross_attention_lesson() {
  static const auto lesson = lesson_of("cross-attention", {.give = give_cross_attention,
                                                           .sharpen = sharpen_source_and_target,
                                                           .run = run_cross_attention,
                                                           .complete = add_error_rates});
  return lesson;
}

}  // namespace lessons
