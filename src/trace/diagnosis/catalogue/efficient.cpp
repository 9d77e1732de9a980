#include "trace/diagnosis/catalogue/parts.hpp"

namespace attn {

std::vector<CataloguedMistake> mistakes_of_efficient() {
  return {
      {.id = "linear-normaliser",
       .family = "efficient",
       .name = "linear attention is not divided by its normaliser",
       .teacher = "Linear attention has a denominator as softmax has one: φ(q) times the sum of all φ(k). "
                  "Without it the output grows with the number of keys. Divide each row by it.",
       .unchanged = "Shapes are right, causality holds, and the recurrence agrees with the parallel form. "
                    "The weights that do not sum to 1 are never formed, so nobody adds them up.",
       .training = "With a norm behind it a model trains well, "
                   "and retentive networks (RetNet) drop the denominator on purpose. "
                   "Without one, outputs grow with the length of the text.",
       .seen_in = "performer-pytorch #40"},
      {.id = "features-negative",
       .family = "efficient",
       .name = "the feature map of linear attention is elu(x) without + 1",
       .teacher = "φ(x) = elu(x) + 1 is positive, and so is each weight. "
                  "elu alone goes down to −1, and the weights are no shares.",
       .unchanged = "Rows of the implied weights still sum to 1, and shapes are right.",
       .training = "Where φ(q) · z comes near 0 the output explodes, so the loss jumps."},
      {.id = "features-norm-missing",
       .family = "efficient",
       .name = "Performer's features leave out exp(−|y|²/2)",
       .teacher = "φ(x) = exp(ωᵀy − |y|²/2) / √m. "
                  "Without the second term long keys get too much weight.",
       .unchanged = "All features are positive, rows of the implied weights sum to 1, "
                    "and for the queries the term cancels.",
       .training = "It is another kernel, which favours long keys; it trains."},
      {.id = "chunk-last-missing",
       .family = "efficient",
       .name = "the last chunk, which is not full, is left out",
       .teacher = "n / chunk rounds down. Take ⌈n / chunk⌉ chunks, the last one shorter.",
       .unchanged = "All other rows are right. It hides wherever the chunk divides the length.",
       .training = "Lengths are mostly powers of two, so it shows in use only."},
      {.id = "online-softmax-not-rescaled",
       .family = "efficient",
       .name = "the running sums are not rescaled when the maximum rises",
       .teacher = "What was summed is relative to the old maximum. "
                  "Multiply l and o by exp(m − m′) before a block is added.",
       .unchanged = "Rows whose largest score is in their first block are right. "
                    "With one block nothing differs.",
       .training = "Early keys count too much, but the row still sums to 1, so it trains."},
      {.id = "online-softmax-not-divided",
       .family = "efficient",
       .name = "the output is not divided by the running sum",
       .teacher = "o is the numerator and l the denominator. Divide once, after the last block.",
       .unchanged = "All running tensors are right.",
       .training = "The output is larger by l, which grows with the number of keys; a norm may hide it."},
      {.id = "online-softmax-sign",
       .family = "efficient",
       .name = "online softmax rescales by exp(new − old) instead of exp(old − new)",
       .teacher = "When the running maximum rises, what was summed so far must shrink: "
                  "multiply it by exp(old − new), which is at most 1. Yours makes it grow.",
       .unchanged = "It is exact as long as the maximum does not rise: "
                    "with a single block, or with the largest score in the first. "
                    "Rows sum to 1 where sum and output share the wrong factor.",
       .training = "Early blocks get too much weight, and the more the larger the scores. "
                   "With small ones the factor is near 1 and a model trains; later it overflows.",
       .seen_in = "FlashMLA PR #177"},
  };
}

}  // namespace attn
