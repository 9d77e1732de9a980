/// Back through attention, of one head and of several, and through a block of a transformer. These parts of
/// the lesson are the documents parts/backward_sdpa.md, backward_multihead.md and
/// backward_transformer_block.md; here is what no formula says: central differences, what is computed again
/// and the fast kernel.
/// Sources: Rumelhart, Hinton & Williams 1986, "Learning representations by back-propagating errors"; the
/// formulas of attention as in Dao et al. 2022, "FlashAttention", appendix B.2; several heads: Vaswani et al.
/// 2017, section 3.2.2.

#include <cmath>
#include <string>

#include "lessons/backward/attention.hpp"
#include "lessons/backward/lesson.hpp"
#include "lessons/backward/moved.hpp"
#include "lessons/backward/recomputation.hpp"
#include "lessons/documents/front_matter.hpp"
#include "lessons/multihead.hpp"
#include "lessons/sdpa/fused_layouts.hpp"
#include "lessons/trained/about.hpp"
#include "lessons/transformer_block.hpp"
#include "lessons/workbench/sharpen.hpp"
#include "lessons/workbench/workbench.hpp"

namespace lessons {

namespace {

void claim_differences(DocumentRun& run, ForwardPass forward) {
  if (run.bench().is_mute()) return;
  forward.magnitude = magnitude_of_loss(run.copy_of<double, 3>("output"), run.copy_of<double, 3>("d_output"));
  claim_by_moving(run.bench(), run.sheet(), forward, gradients_on(run.sheet()));
}

template <std::size_t N>
void claim_kernel(DocumentRun& run) {
  const auto tensor = [&](const std::string& name) {
    return run.copy_of<double, N>(N == 4 ? name + "_heads" : name);
  };
  const auto Q = tensor("Q"), K = tensor("K"), V = tensor("V");
  const auto weights = run.copy_of<double, N>("weights");
  claim_gradients_of_kernel<N>(run.bench(), {.Q = Q, .K = K, .V = V, .weights = weights, .mask = run.mask()},
                               run.copy_of<double, N>(N == 4 ? "d_heads" : "d_output"), tensor("d_Q"),
                               tensor("d_K"), tensor("d_V"));
}

Functions functions_with(const ForwardPass& forward) {
  Functions functions = {.remarks = {{"who_is_about_whom", who_is_about_whom}}};
  functions.actions["differences"] = [forward](DocumentRun& run) { claim_differences(run, forward); };
  add_fused_layouts(functions);
  return functions;
}

template <std::size_t N>
void run_through_attention(Workbench& bench, const document::Document& page) {
  auto functions = functions_with({.curved = {"scaled"}, .of_its_size = {"output"}});
  functions.actions["gradients-equal-kernel"] = claim_kernel<N>;
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
