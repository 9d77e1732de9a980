/// Back through attention and through the lessons that contain it: the gradient of a loss with respect to
/// every tensor of the forward pass, derived step by step and checked by central differences. The parts of
/// the lesson are the documents parts/backward_sdpa.md, backward_multihead.md, backward_transformer_block.md
/// and backward_seq2seq.md, which have its sources; here is what no formula says: central differences and the
/// fast kernel.

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "attn/ops/measure.hpp"
#include "attn/ops/precision.hpp"
#include "attn/ops/slice.hpp"
#include "lessons/backward/moved.hpp"
#include "lessons/documents/front_matter.hpp"
#include "lessons/multihead.hpp"
#include "lessons/sdpa.hpp"
#include "lessons/seq2seq.hpp"
#include "lessons/trained/layers.hpp"
#include "lessons/workbench/claims.hpp"

namespace lessons {

namespace {

void claim_differences(DocumentRun& run, ForwardPass forward) {
  if (run.bench().is_mute()) return;
  forward.magnitude = magnitude_of_loss(run.copy_of<double, 3>("output"), run.copy_of<double, 3>("d_output"));
  claim_by_moving(run.bench(), run.sheet(), forward, gradients_on(run.sheet()));
}

/// That the fast kernel gives the same d_Q, d_K and d_V of a single attention and of several heads. A note
/// where rounding alone may change more than the hundredth part of them.
void claim_kernel(DocumentRun& run, const ToClaim& claim) {
  const auto& bench = run.bench();
  const bool has_heads = run.sheet().find("Q_heads") != nullptr;
  const std::string suffix = has_heads ? "_heads" : "";
  const auto tensor = [&](const std::string& name) { return run.in_heads(name + suffix); };
  const auto Q = tensor("Q"), K = tensor("K"), V = tensor("V");
  const auto d_Q = tensor("d_Q"), d_K = tensor("d_K"), d_V = tensor("d_V");
  const auto d_output = run.in_heads(has_heads ? "d_heads" : "d_output");
  const double divisor = divisor_of(Q.shape(3), bench.options.temperature);
  const double largest_vector = attn::maximum({attn::max_abs(Q), attn::max_abs(K)});
  const double terms =
      static_cast<double>(Q.shape(2)) * attn::max_abs(d_output) * (1.0 + attn::max_abs(V) * largest_vector);
  const auto dtype = bench.trace.dtype();
  const double magnitude = magnitude_of_scores(Q, attn::repeat_heads(K, Q.shape(1)), divisor);
  claim_equals_kernel(bench.trace,
                      {.id = claim.id,
                       .claim = claim.words,
                       .formula = fmt::format("max |d_Q{0}, d_K{0}, d_V{0} − those of kernel {{}}|", suffix),
                       .limit = roughly_at_most(16.0 * attn::largest_rounding_error(dtype, 1.0) *
                                                (terms + attn::smallest_normal(dtype)) * magnitude)},
                      attn::maximum({attn::max_abs(d_Q), attn::max_abs(d_K), attn::max_abs(d_V)}),
                      with_rule(bench,
                                [&](const auto& visible) {
                                  return attn::fast::attention_backward(Q, K, V, divisor, visible, d_output);
                                }),
                      [&](const auto& fast) {
                        auto mute = bench.trace.mute();
                        return attn::maximum({attn::max_abs_difference(mute.step({}, fast.d_Q), d_Q),
                                              attn::max_abs_difference(mute.step({}, fast.d_K), d_K),
                                              attn::max_abs_difference(mute.step({}, fast.d_V), d_V)});
                      });
}

void add_differences(Functions& functions, const ForwardPass& forward) {
  functions.actions["differences"] = [forward](DocumentRun& run) { claim_differences(run, forward); };
}

void prepare_through_attention(DocumentRun&, Functions& functions) {
  add_differences(functions, {.curved = {"scaled"}, .of_its_size = {"output"}});
  functions.claims["gradients-equal-kernel"] = claim_kernel;
}

void prepare_through_block(DocumentRun& run, Functions& functions) {
  const auto& options = run.bench().options;
  const bool is_pre = options.norm_order == "pre", is_gelu = options.activation == "gelu";
  ForwardPass forward = {.curved = {"attention/scaled", "norm_1", is_pre ? "norm_2" : "output"},
                         .of_its_size = {"attention/output", "ffn/output"}};
  if (is_pre) forward.of_its_size.emplace_back("output");
  (is_gelu ? forward.curved : forward.with_corner).emplace_back("ffn/hidden");
  add_differences(functions, forward);
}

/// Central differences of what the page shows.
void claim_differences_through_time(DocumentRun& run, const Tensor<2>& words) {
  if (run.bench().is_mute()) return;
  const auto count = std::count_if(words.begin(), words.end(), [](double word) { return word >= 0.0; });
  const auto logits = run.copy_of<double, 3>("decoder/logits");
  ForwardPass forward = {.magnitude = static_cast<double>(count) * (1.0 + attn::max_abs(logits)),
                         .curved = {"decoder/scores", "decoder/logits"}};
  for (const std::string group : {"encoder/", "decoder/"})
    for (const std::string id : {"i", "f", "g", "o", "c", "h"}) forward.curved.push_back(group + id);
  auto shown = gradients_on(run.sheet());
  std::erase_if(shown, [&](const auto& gradient) { return run.is_hidden(gradient.of); });
  claim_by_moving(run.bench(), run.sheet(), forward, shown);
}

void prepare_through_seq2seq(DocumentRun& run, Functions& functions) {
  const auto texts = std::make_shared<const Texts>(choose_texts(run.bench()));
  add_texts(functions, texts);
  functions.actions["differences"] = [=](DocumentRun& now) {
    claim_differences_through_time(now, texts->words);
  };
  run.axis("vocabulary", texts->vocabulary.size());
  run.axis("decoder/target", texts->writes.length());
}

/// The part of the lesson that goes back through another one.
Lesson part_through(std::string_view through, const LessonCode& code) {
  auto name = std::string(through);
  std::replace(name.begin(), name.end(), '-', '_');
  auto lesson = lesson_of(document_named(fmt::format("parts/backward_{}.md", name)), "backward", code);
  lesson.through = through;
  return lesson;
}

}  // namespace

const Lesson& backward_lesson() {
  static const auto sdpa = part_through(
      "sdpa", {.give = give_about, .sharpen = sharpen_token, .prepare = prepare_through_attention});
  static const auto multihead = part_through(
      "multihead",
      {.give = give_about_heads, .sharpen = sharpen_token, .prepare = prepare_through_attention});
  static const auto block = part_through(
      "transformer-block", {.give = give_block, .sharpen = sharpen_block, .prepare = prepare_through_block});
  static const auto seq2seq =
      part_through("seq2seq", {.prepare = prepare_through_seq2seq, .inputs = seq2seq_input_list});
  static const auto lesson = [&] {
    auto all = lesson_of(document_named("parts/backward.md"), "backward", LessonCode{});
    all.document = nullptr;  // each part has its own
    all.code = nullptr;
    all.inputs = [](const Options& options) {
      return part_of(backward_lesson(), options.through).inputs(options);
    };
    all.probe = sdpa.probe;
    all.parts = {&sdpa, &multihead, &block, &seq2seq};
    all.run = [](Workbench& bench) { part_of(backward_lesson(), bench.options.through).run(bench); };
    return all;
  }();
  return lesson;
}

}  // namespace lessons
