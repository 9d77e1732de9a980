/// Back through attention, of one head and of several. These parts of the lesson are the documents
/// parts/backward_sdpa.md and parts/backward_multihead.md; here is what no formula says: central differences,
/// what is computed again, the fast kernel and the entries that stand out.
/// Sources: Rumelhart, Hinton & Williams 1986, "Learning representations by back-propagating errors"; the
/// formulas of attention as in Dao et al. 2022, "FlashAttention", appendix B.2; several heads: Vaswani et al.
/// 2017, section 3.2.2.

#include "lessons/backward/attention.hpp"
#include "lessons/backward/lesson.hpp"
#include "lessons/backward/loss.hpp"
#include "lessons/backward/moved.hpp"
#include "lessons/backward/notices.hpp"
#include "lessons/backward/recomputation.hpp"
#include "lessons/documents/front_matter.hpp"
#include "lessons/multihead.hpp"
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

template <std::size_t N>
void run_document(Workbench& bench, const document::Document& page) {
  Functions functions = {.remarks = {{"who_is_about_whom", who_is_about_whom},
                                     {"example_of_scaled", notice_of_scaled},
                                     {"step_of_training", notice_of_weight}}};
  functions.actions["differences"] = [](DocumentRun& run) { claim_differences(run); };
  functions.actions["gradients-equal-kernel"] = claim_kernel<N>;
  add_fused_layouts(functions);
  add_recomputation(functions, {"X", "Q_heads", "K_heads", "V_heads", "weights", "heads"});
  DocumentRun(bench, functions).tell(page);
}

template <std::size_t N>
Lesson part_through(std::string_view through, const document::Document& page, void (*give)(ModelInputs&)) {
  auto lesson = lesson_of(page, "backward", {.give = give, .sharpen = sharpen_token});
  lesson.through = through;
  lesson.run = [&page](Workbench& bench) { run_document<N>(bench, page); };
  return lesson;
}

}  // namespace

const Lesson& backward_through_sdpa() {
  static const auto part = part_through<3>("sdpa", document_named("parts/backward_sdpa.md"), give_about);
  return part;
}

const Lesson& backward_through_multihead() {
  static const auto part =
      part_through<4>("multihead", document_named("parts/backward_multihead.md"), give_about_heads);
  return part;
}

}  // namespace lessons
