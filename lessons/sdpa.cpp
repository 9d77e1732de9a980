/// Scaled dot-product attention on its own: no words, no weight matrices, only Q, K and V.
/// Source: Vaswani et al. 2017, "Attention Is All You Need", section 3.2.1, equation 1.

#include "lessons/lesson.hpp"
#include "lessons/shared/attention_inputs.hpp"
#include "lessons/shared/attention_steps.hpp"
#include "lessons/shared/claims.hpp"

namespace lessons {

namespace {

void run(Workbench& bench) {
  bench.trace.note(
      "idea", "The idea",
      "A query is compared with every key; the better they match, the more of that key's value goes into the "
      "answer. It is a dictionary that never fails: where an ordinary one returns the value of the one key "
      "that is equal, this one returns a mixture of all values, weighted by how well their keys match. The "
      "numbers below are drawn at random, so only the mechanism means something, not what is looked at.",
      "Attention(Q, K, V) = softmax(Q Kᵀ / √d_k) V");

  const auto in = show_attention_inputs(bench);
  const auto shown = show_attention(bench, in.Q, in.K, in.V, in.mask);
  claim_attention(bench, shown.attention, in.Q, in.K, in.V, in.mask);
}

}  // namespace

extern const Lesson sdpa;
const Lesson sdpa = {
    .name = "sdpa",
    .title = "scaled dot-product attention: queries, keys, values",
    .teaches =
        "The formula that all the other lessons contain, on nothing but three matrices: match queries with "
        "keys, scale, mask, turn the scores into shares, average the values. The tokens are labels only.",
    .options = {"sentence", "source", "target", "d-k", "d-v", "causal", "window", "dropout", "temperature",
                "seed", "rng", "dtype"},
    .defaults = {.sentence = {"The cat sat on the mat"}, .d_k = 8, .d_v = 8},
    .examples = {"sdpa --sentence \"The cat sat\" --d-k 4 --d-v 3",
                 "sdpa --source \"one two three four\" --target \"five six\" --causal"},
    .element_count = attention_element_count,
    .run = run,
};

}  // namespace lessons
