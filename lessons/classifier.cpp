/// A classifier of sentences with attention: embeddings, positions, one layer of multi-head attention, the
/// mean over the tokens, and a score for each class. The lesson is the document classifier.md. Sources:
/// Vaswani et al. 2017, sections 3.2.2 and 3.5, for attention and positions; Lin et al. 2014, "Network in
/// Network", section 3.2, for the mean in place of a larger network.

#include <array>
#include <string>

#include "attn/error.hpp"
#include "lessons/documents/front_matter.hpp"
#include "lessons/lesson.hpp"
#include "lessons/multihead.hpp"
#include "lessons/positional.hpp"
#include "lessons/sdpa/fused_layouts.hpp"
#include "lessons/workbench/notice.hpp"

namespace lessons {

namespace {

/// The classes that `attnlab train sentiment` tells apart, in its order.
constexpr std::array<const char*, 2> sentiments = {"negative", "positive"};

void run_classifier(Workbench& bench) {
  require_pairs(bench.options, "sinusoidal positions");
  if (bench.options.model && *bench.options.classes == sentiments.size())
    bench.trace.label("class", {{{sentiments.begin(), sentiments.end()}}});
  Functions functions;
  add_fused_layouts(functions);
  functions.remarks["heads_look_at"] = heads_look_at;
  DocumentRun(bench, functions).tell();
}

void give_sentiment(ModelInputs& inputs) {
  if (inputs.number("layers") != 1 || inputs.number("d_ff") != 0)
    throw attn::Error(
        "this lesson's classifier has one layer of attention and no feed-forward network, the model has "
        "more; valid: --model sentiment, one that was trained without --layers and --d-ff, or none");
  inputs.options().heads = inputs.number("heads");
  inputs.give_rows("X", inputs.rows("embedding", "words", inputs.sentence()));
  for (const std::string id : {"W_Q", "W_K", "W_V", "W_O"})
    inputs.give("attention/" + id, inputs.matrix("layer=1/attention/" + id));
  for (const std::string id : {"gain", "bias"})
    inputs.give("attention/norm/" + id, inputs.vector("layer=1/norm_1/" + id));
  inputs.give("W_class", inputs.matrix("output/W"));
  inputs.give("b_class", inputs.vector("output/b"));
}

}  // namespace

const Lesson& classifier_lesson() {
  static const auto lesson = lesson_of("classifier", {.give = give_sentiment, .run = run_classifier});
  return lesson;
}

}  // namespace lessons
