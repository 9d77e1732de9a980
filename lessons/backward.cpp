/// Back through attention and through the lessons that contain it: the gradient of a loss with respect to
/// every tensor of the forward pass, derived step by step and checked by central differences. The parts of
/// the lesson are the documents parts/backward_sdpa.md, backward_multihead.md, backward_transformer_block.md
/// and backward_seq2seq.md; here is what no formula says: central differences, what is computed again, and
/// the fast kernel. Sources: Rumelhart, Hinton & Williams 1986, "Learning representations by back-propagating
/// errors"; the formulas of attention as in Dao et al. 2022, "FlashAttention", appendix B.2; gradient
/// checkpointing: Chen et al. 2016, "Training Deep Nets with Sublinear Memory Cost"; back through time:
/// Werbos 1990, "Backpropagation Through Time: What It Does and How to Do It".

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "attn/ops/measure.hpp"
#include "attn/ops/precision.hpp"
#include "attn/ops/slice.hpp"
#include "attn/ops/softmax.hpp"
#include "lessons/backward/moved.hpp"
#include "lessons/documents/front_matter.hpp"
#include "lessons/multihead.hpp"
#include "lessons/sdpa.hpp"
#include "lessons/seq2seq.hpp"
#include "lessons/trained/layers.hpp"
#include "lessons/workbench/claims.hpp"

namespace lessons {

namespace {

/// The gradients on the sheet, all steps computed again, with `instead` in the place of the step of that
/// name.
Gradients gradients_again(formula::Sheet sheet, const std::string& step = "",
                          const formula::View& instead = {}) {
  for (const auto& one : sheet.definitions())
    sheet.set(one.name, one.name == step ? instead : sheet.rounded_value(one));
  return gradients_on(sheet);
}

double largest_difference(const Gradients& a, const Gradients& b) {
  double largest = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t j = 0; j < a[i].elements.size(); ++j)
      largest = attn::maximum({largest, std::abs(a[i].elements[j] - b[i].elements[j])});
  return largest;
}

double largest_number(const Gradients& gradients) {
  double largest = 0.0;
  for (const auto& gradient : gradients)
    for (const double x : gradient.elements) largest = attn::maximum({largest, std::abs(x)});
  return largest;
}

/// log_sum_exp, each finite number moved by more than rounding moves it: how far the gradients then move
/// bounds what rounding may do. In float64 by at least 1e-12, so that the bound is the same on every machine.
Tensor<3> nudged(const attn::Trace& trace, Tensor<3> log_sum_exp) {
  for (double& x : log_sum_exp)
    if (const double size = 1.0 + std::abs(x); std::isfinite(x))
      x += std::max(8.0 * attn::largest_rounding_error(trace.dtype(), size), 1e-12 * size);
  return log_sum_exp;
}

void claim_checkpointing(DocumentRun& run, const ToClaim& claim) {
  const auto& sheet = run.sheet();
  run.bench().trace.claim({.id = claim.id,
                           .claim = claim.words,
                           .formula = "max |gradients, all computed again from the input − those above|",
                           .value = largest_difference(gradients_on(sheet), gradients_again(sheet)),
                           .limit = attn::exactly(0.0)});
}

void claim_flash(DocumentRun& run, const ToClaim& claim, const std::string& group) {
  auto& bench = run.bench();
  const auto& sheet = run.sheet();
  const auto scores = run.copy_of<double, 4>(sheet.stands_for(group + "masked"));
  const auto log_sum_exp = run.copy_of<double, 3>(group + "flash/log_sum_exp");
  const auto gradients_from = [&](const Tensor<3>& sums) {
    auto mute = bench.mute();
    const auto weights = mute.trace.step({}, attn::softmax_from(scores, sums));
    const auto view = formula::view_of(sheet.tensor(group + "weights").axes, attn::view_of(weights));
    return gradients_again(sheet, group + "weights", view);
  };
  const auto shown = gradients_on(sheet), again = gradients_from(log_sum_exp),
             from_nudged = gradients_from(nudged(bench.trace, log_sum_exp));
  claim_unless_lost(bench.trace,
                    {.id = claim.id,
                     .claim = claim.words,
                     .formula = "max |gradients with weights = exp(scaled − log_sum_exp) − those above|",
                     .value = largest_difference(shown, again),
                     .limit = roughly_at_most(largest_difference(again, from_nudged))},
                    largest_number(shown));
}

/// For a document that has `flash/log_sum_exp`, in the group `group`.
void add_recomputation(Functions& functions, const std::string& group = "") {
  functions.claims["checkpointing-gives-the-same"] = claim_checkpointing;
  functions.claims["flash-gives-the-same"] = [group](DocumentRun& run, const ToClaim& claim) {
    claim_flash(run, claim, group);
  };
}

void claim_differences(DocumentRun& run, ForwardPass forward) {
  if (run.bench().is_mute()) return;
  forward.magnitude = magnitude_of_loss(run.copy_of<double, 3>("output"), run.copy_of<double, 3>("d_output"));
  claim_by_moving(run.bench(), run.sheet(), forward, gradients_on(run.sheet()));
}

/// The keys or values of each query head: shared ones once for each that reads them.
template <std::size_t N>
Tensor<N> for_each_query_head(const Tensor<N>& x, const Tensor<N>& Q) {
  if constexpr (N == 4)
    return attn::repeat_heads(x, Q.shape(1));
  else
    return x;
}

/// That the fast kernel gives the same d_Q, d_K and d_V, [batch×n×d] of a
/// single attention and [batch×head×n×d] of several heads. A note where rounding alone may change more than
/// the hundredth part of them.
template <std::size_t N>
void claim_kernel(DocumentRun& run, const ToClaim& claim) {
  const auto& bench = run.bench();
  const std::string suffix = N == 4 ? "_heads" : "";
  const auto tensor = [&](const std::string& name) { return run.copy_of<double, N>(name + suffix); };
  const auto Q = tensor("Q"), K = tensor("K"), V = tensor("V");
  const auto d_Q = tensor("d_Q"), d_K = tensor("d_K"), d_V = tensor("d_V");
  const auto d_output = run.copy_of<double, N>(N == 4 ? "d_heads" : "d_output");
  const double divisor = divisor_of(Q.shape(N - 1), bench.options.temperature);
  const double largest_vector = attn::maximum({attn::max_abs(Q), attn::max_abs(K)});
  const double terms = static_cast<double>(Q.shape(N - 2)) * attn::max_abs(d_output) *
                       (1.0 + attn::max_abs(V) * largest_vector);
  const auto dtype = bench.trace.dtype();
  claim_equals_kernel(bench.trace,
                      {.id = claim.id,
                       .claim = claim.words,
                       .formula = fmt::format("max |d_Q{0}, d_K{0}, d_V{0} − those of kernel {{}}|", suffix),
                       .limit = roughly_at_most(16.0 * attn::largest_rounding_error(dtype, 1.0) *
                                                (terms + attn::smallest_normal(dtype)) *
                                                magnitude_of_scores(Q, for_each_query_head(K, Q), divisor))},
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

template <std::size_t N>
void prepare_through_attention(DocumentRun&, Functions& functions) {
  add_differences(functions, {.curved = {"scaled"}, .of_its_size = {"output"}});
  functions.claims["gradients-equal-kernel"] = claim_kernel<N>;
  add_recomputation(functions);
}

void prepare_through_block(DocumentRun& run, Functions& functions) {
  const auto& options = run.bench().options;
  const bool is_pre = options.norm_order == "pre", is_gelu = options.activation == "gelu";
  ForwardPass forward = {.curved = {"attention/scaled", "norm_1", is_pre ? "norm_2" : "output"},
                         .of_its_size = {"attention/output", "ffn/output"}};
  if (is_pre) forward.of_its_size.emplace_back("output");
  (is_gelu ? forward.curved : forward.with_corner).emplace_back("ffn/hidden");
  add_differences(functions, forward);
  add_recomputation(functions, "attention/");
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
      "sdpa", {.give = give_about, .sharpen = sharpen_token, .prepare = prepare_through_attention<3>});
  static const auto multihead = part_through(
      "multihead",
      {.give = give_about_heads, .sharpen = sharpen_token, .prepare = prepare_through_attention<4>});
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
