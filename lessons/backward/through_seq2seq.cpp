/// Back through the lesson seq2seq, word by word: backpropagation through time (Werbos 1990, "Backpropagation
/// Through Time: What It Does and How to Do It") through the decoder of Bahdanau et al. 2014, its attention
/// and its encoder. This part of the lesson is the document parts/backward_seq2seq.md.

#include <string>

#include "attn/ops/measure.hpp"
#include "lessons/backward/lesson.hpp"
#include "lessons/backward/moved.hpp"
#include "lessons/documents/front_matter.hpp"
#include "lessons/seq2seq.hpp"

namespace lessons {

namespace {

/// Central differences of what the page shows.
void claim_differences_through_time(DocumentRun& run, const WordsToWrite& words) {
  if (run.bench().is_mute()) return;
  std::size_t count = 0;
  for (const auto& of_sample : words) count += of_sample.size();
  const auto logits = run.copy_of<double, 3>("decoder/logits");
  ForwardPass forward = {.magnitude = static_cast<double>(count) * (1.0 + attn::max_abs(logits)),
                         .curved = {"decoder/scores", "decoder/logits"}};
  for (const std::string group : {"encoder/", "decoder/"})
    for (const std::string id : {"i", "f", "g", "o", "c", "h"}) forward.curved.push_back(group + id);
  auto shown = gradients_on(run.sheet());
  std::erase_if(shown, [&](const auto& gradient) { return run.is_hidden(gradient.of); });
  claim_by_moving(run.bench(), run.sheet(), forward, shown);
}

void run_through_seq2seq(Workbench& bench) {
  const auto reads = after_start(bench.plan.target);
  auto writes = bench.plan.target;
  for (auto& sentence : writes.tokens) sentence.emplace_back(attn::end_token);
  const auto words = output_words(bench, bench.plan.target, writes);
  bench.trace.label("vocabulary", {{words.vocabulary}});
  bench.draw_vectors(bench.plan.source);
  bench.draw_vectors(reads);
  Functions functions;
  functions.tensors["target_vectors"] = [&](DocumentRun&) { return vectors_of(bench, reads); };
  functions.actions = {
      {"source_mask",
       [&](DocumentRun& run) {
         label_target(run, writes);
         if (bench.plan.source.is_padded()) set_source_mask(run, writes);
       }},
      {"words", [&](DocumentRun& run) { set_words(run, words.to_write); }},
      {"differences", [&](DocumentRun& run) { claim_differences_through_time(run, words.to_write); }}};
  DocumentRun run(bench, functions);
  run.axis("vocabulary", words.vocabulary.size());
  run.axis("decoder/target", writes.length());
  label_target(run, reads);
  run.tell(document_named("parts/backward_seq2seq.md"));
}

}  // namespace

const Lesson& backward_through_seq2seq() {
  static const auto part = [] {
    auto of_document =
        lesson_of(document_named("parts/backward_seq2seq.md"), "backward", {.run = run_through_seq2seq});
    of_document.through = "seq2seq";
    of_document.inputs = seq2seq_input_list;
    return of_document;
  }();
  return part;
}

}  // namespace lessons
