/// Back through attention. This part of the lesson is the document parts/backward_sdpa.md; here is what no
/// formula says: central differences, the fast kernel and the entries that stand out.
/// Sources: Rumelhart, Hinton & Williams 1986, "Learning representations by back-propagating errors"; the
/// formulas of attention as in Dao et al. 2022, "FlashAttention", appendix B.2.

#include "lessons/backward/attention.hpp"
#include "lessons/backward/lesson.hpp"
#include "lessons/backward/loss.hpp"
#include "lessons/backward/moved.hpp"
#include "lessons/backward/notices.hpp"
#include "lessons/documents/front_matter.hpp"
#include "lessons/sdpa/fused_layouts.hpp"
#include "lessons/trained/about.hpp"
#include "lessons/workbench/sharpen.hpp"

namespace lessons {

namespace {

void claim_differences(DocumentRun& run) {
  if (run.bench().is_mute()) return;
  const auto output = run.copy_of<double, 3>("output"), d_output = run.copy_of<double, 3>("d_output");
  claim_by_moving(run.bench(),
                  {.magnitude = magnitude_of_loss(output, d_output),
                   .curved = {"scaled"},
                   .of_its_size = {"output"},
                   .formulas = formulas_again(run.sheet(), "L")},
                  gradients_on(run.sheet(), run.bench()));
}

void claim_kernel(DocumentRun& run) {
  const auto tensor = [&](const char* name) { return run.copy_of<double, 3>(name); };
  const auto Q = tensor("Q"), K = tensor("K"), V = tensor("V"), weights = tensor("weights");
  claim_gradients_of_kernel<3>(run.bench(), {.Q = Q, .K = K, .V = V, .weights = weights, .mask = run.mask()},
                               tensor("d_output"), tensor("d_Q"), tensor("d_K"), tensor("d_V"));
}

const document::Document& page() {
  return document_named("parts/backward_sdpa.md");
}

void run_backward_through_sdpa(Workbench& bench) {
  Functions functions = {
      .actions = {{"differences", claim_differences}, {"gradients-equal-kernel", claim_kernel}},
      .remarks = {{"who_is_about_whom", who_is_about_whom},
                  {"example_of_scaled", notice_of_scaled},
                  {"step_of_training", notice_of_weight}}};
  add_fused_layouts(functions);
  DocumentRun(bench, functions).tell(page());
}

}  // namespace

const Lesson& backward_through_sdpa() {
  static const auto part = [] {
    auto lesson = lesson_of(page(), "backward",
                            {.give = give_about, .sharpen = sharpen_token, .run = run_backward_through_sdpa});
    lesson.through = "sdpa";
    return lesson;
  }();
  return part;
}

}  // namespace lessons
