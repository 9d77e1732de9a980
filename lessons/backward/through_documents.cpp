/// Back through attention, of one head and of several, and through a block of a transformer. These parts of
/// the lesson are the documents parts/backward_sdpa.md, backward_multihead.md and
/// backward_transformer_block.md; here is what no formula says: central differences, what is computed again,
/// the fast kernel and the entries that stand out.
/// Sources: Rumelhart, Hinton & Williams 1986, "Learning representations by back-propagating errors"; the
/// formulas of attention as in Dao et al. 2022, "FlashAttention", appendix B.2; several heads: Vaswani et al.
/// 2017, section 3.2.2.

#include <fmt/format.h>

#include <cmath>
#include <string>

#include "attn/ops/measure.hpp"
#include "attn/ops/precision.hpp"
#include "attn/ops/slice.hpp"
#include "attn/text/tokens.hpp"
#include "lessons/backward/lesson.hpp"
#include "lessons/backward/moved.hpp"
#include "lessons/backward/recomputation.hpp"
#include "lessons/documents/front_matter.hpp"
#include "lessons/multihead.hpp"
#include "lessons/trained/about.hpp"
#include "lessons/transformer_block.hpp"
#include "lessons/workbench/claims.hpp"
#include "lessons/workbench/notice.hpp"
#include "lessons/workbench/sharpen.hpp"
#include "lessons/workbench/workbench.hpp"
#include "trace/entry.hpp"

namespace lessons {

namespace {

/// The entry of a table that is farthest from 0, in the first sample: "d_scaled[dog, the]" and its value.
struct Extreme {
  std::string name;
  double value = 0.0;
};

Extreme extreme_of(const attn::Event& event) {
  const auto& shape = event.tensor->shape;
  const auto rows = shape[shape.size() - 2], columns = shape.back();
  std::size_t at = 0;
  for (std::size_t i = 1; i < rows * columns; ++i)
    if (std::abs(event.tensor->at(i)) > std::abs(event.tensor->at(at))) at = i;
  const auto first = event.axes.size() - 2;
  const auto name = [&](std::size_t axis, std::size_t i) {
    const auto& labels = event.labels[axis];
    return labels.empty() ? name_along(event, axis, i) : attn::numbered_token(labels.of(0), i);
  };
  const bool has_heads = first > 0 && event.axes[first - 1].ends_with("head");
  return {fmt::format("{}[{}{}, {}]", event.id, has_heads ? "0, " : "", name(first, at / columns),
                      name(first + 1, at % columns)),
          event.tensor->at(at)};
}

/// "ffn/W_1" of "ffn/d_W_1": what the gradient is of.
std::string without_d(std::string id) {
  const auto slash = id.rfind('/');
  return id.erase(slash == std::string::npos ? 0 : slash + 1, 2);
}

/// What to notice in d_scaled and in the gradient of a parameter, with the entry that is farthest from 0 in
/// the first sample and the first head.
std::string notice_of_scaled(const attn::Event& d_scaled) {
  const auto [name, value] = extreme_of(d_scaled);
  if (value == 0.0) return d_scaled.note;
  const auto repeated = name.find('#') == name.npos ? "" : " (#2: the second)";
  return fmt::format("{} Example: {} = {:.4f}{}. Raise that scaled score by 0.01, and L {} by about {:.6f}.",
                     d_scaled.note, name, value, repeated, value > 0.0 ? "grows" : "falls",
                     0.01 * std::abs(value));
}

std::string notice_of_weight(const attn::Event& d_W) {
  const auto [name, value] = extreme_of(d_W);
  if (value == 0.0) return d_W.note;
  const auto parameter = without_d(d_W.id), entry = without_d(name);
  return fmt::format("{} A training step with the learning rate η sets {} ← {} − η · {}: {} becomes {}.",
                     d_W.note, parameter, parameter, d_W.id, entry,
                     value > 0.0 ? fmt::format("smaller by η · {:.4f}", value)
                                 : fmt::format("larger by η · {:.4f}", -value));
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

Functions functions_with(const ForwardPass& forward) {
  Functions functions = {.remarks = {{"who_is_about_whom", who_is_about_whom},
                                     {"example_of_scaled", notice_of_scaled},
                                     {"step_of_training", notice_of_weight}}};
  functions.actions["differences"] = [forward](DocumentRun& run) { claim_differences(run, forward); };
  return functions;
}

template <std::size_t N>
void run_through_attention(Workbench& bench, const document::Document& page) {
  auto functions = functions_with({.curved = {"scaled"}, .of_its_size = {"output"}});
  functions.claims["gradients-equal-kernel"] = claim_kernel<N>;
  add_recomputation(functions, {"X", "Q_heads", "K_heads", "V_heads", "weights", "heads"});
  DocumentRun(bench, functions).tell(page);
}

void run_through_block(Workbench& bench, const document::Document& page) {
  const bool is_pre = bench.options.norm_order == "pre", is_gelu = bench.options.activation == "gelu";
  ForwardPass forward = {.curved = {"attention/scaled", "norm_1", is_pre ? "norm_2" : "output"},
                         .of_its_size = {"attention/output", "ffn/output"}};
  if (is_pre) forward.of_its_size.emplace_back("output");
  (is_gelu ? forward.curved : forward.with_corner).emplace_back("ffn/hidden");
  auto functions = functions_with(forward);
  std::vector<std::string> kept = {"X"};
  if (is_pre) kept.emplace_back("norm_1");
  for (const char* id : {"Q_heads", "K_heads", "V_heads", "weights", "heads"})
    kept.push_back(std::string("attention/") + id);
  kept.insert(kept.end(), {"residual_1", is_pre ? "norm_2" : "norm_1", "ffn/hidden"});
  if (!is_pre) kept.emplace_back("residual_2");
  add_recomputation(functions, kept, "attention/");
  DocumentRun(bench, functions).tell(page);
}

Lesson part_through(std::string_view through, const char* file, const LessonCode& code,
                    void (*run)(Workbench& bench, const document::Document& page)) {
  const auto& page = document_named(file);
  auto lesson = lesson_of(page, "backward", code);
  lesson.through = through;
  lesson.run = [run, &page](Workbench& bench) { run(bench, page); };
  return lesson;
}

}  // namespace

const Lesson& backward_through_sdpa() {
  static const auto part =
      part_through("sdpa", "parts/backward_sdpa.md", {.give = give_about, .sharpen = sharpen_token},
                   run_through_attention<3>);
  return part;
}

const Lesson& backward_through_multihead() {
  static const auto part =
      part_through("multihead", "parts/backward_multihead.md",
                   {.give = give_about_heads, .sharpen = sharpen_token}, run_through_attention<4>);
  return part;
}

const Lesson& backward_through_transformer_block() {
  static const auto part = part_through("transformer-block", "parts/backward_transformer_block.md",
                                        {.give = give_block, .sharpen = sharpen_block}, run_through_block);
  return part;
}

}  // namespace lessons
