/// Back through attention and through the lessons that contain it: the gradient of a loss with respect to
/// every tensor of the forward pass, derived step by step and checked by central differences. What is gone
/// through has a file in lessons/backward/.

#include "lessons/backward/lesson.hpp"

namespace lessons {

const Lesson& backward_lesson() {
  const auto &through_sdpa = backward_through_sdpa(), &through_multihead = backward_through_multihead(),
             &through_block = backward_through_transformer_block(),
             &through_seq2seq = backward_through_seq2seq();
  static const Lesson lesson = {
      .name = "backward",
      .title = "gradients: from the loss back to the parameters of attention",
      .teaches =
          "How a gradient finds its way back through attention: the rule for a matrix product, the rule "
          "for softmax, and from them the gradients of V, weights, scores, Q and K, then those of the "
          "projections W_Q, W_K and W_V, which training changes, and of the words. Each is derived, "
          "computed and then checked by moving the numbers and watching the loss. Q, K or V from --input "
          "or --set take the place of X and the projections; so do those that --draws stream draws. "
          "--through goes back through another lesson: multihead (with --heads, --kv-heads), "
          "transformer-block (with --heads, --d-ff, --norm, --activation) or seq2seq (with --source, "
          "--target, --hidden, --d-a).",
      .options = {"sentence",   "source",     "target",       "through",    "d-model",     "d-k",
                  "d-v",        "heads",      "kv-heads",     "d-ff",       "hidden",      "d-a",
                  "norm-order", "activation", "causal",       "window",     "temperature", "seed",
                  "rng",        "draws",      "weight-scale", "embeddings", "model",       "dtype"},
      .defaults = {.sentence = {"the cat saw the dog"}, .d_model = 4},
      .examples = {"backward --sentence \"the cat slept\" --d-k 4 --d-v 3",
                   "backward --source \"one two three four\" --target \"five six\" --causal",
                   "backward --through multihead --heads 4 --kv-heads 2",
                   "backward --through transformer-block --norm pre",
                   "backward --through seq2seq --source \"i love cats\" --target \"ich liebe katzen\""},
      .inputs =
          [](const Options& options) { return part_of(backward_lesson(), options.through).inputs(options); },
      .probe = through_sdpa.probe,
      .parts = {&through_sdpa, &through_multihead, &through_block, &through_seq2seq},
      .run = [](Workbench& bench) { part_of(backward_lesson(), bench.options.through).run(bench); },
  };
  return lesson;
}

}  // namespace lessons
