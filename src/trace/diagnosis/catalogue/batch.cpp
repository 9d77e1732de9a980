#include "trace/diagnosis/catalogue/parts.hpp"

namespace attn {

std::vector<CataloguedMistake> mistakes_of_batch() {
  return {
      {.id = "batch-leak",
       .family = "batch",
       .name = "tokens attend to other samples of the batch",
       .teacher = "A query reads the keys of other samples: "
                  "the batch axis was merged into the tokens, or swapped with another axis. "
                  "Keep it apart, and multiply sample by sample.",
       .unchanged = "Rows sum to 1, over the keys of more than one sample. "
                    "A batch of one hides it, as does any test that looks at one sample at a time.",
       .training = "Other samples are noise that attention learns to ignore, so it trains. "
                   "An answer then depends on what else is in the batch.",
       .seen_in = "DEForm's CLK"},
      {.id = "mask-batch-order",
       .family = "batch",
       .name = "the padding mask is tiled per head where it should be repeated per sample",
       .teacher = "With batch and heads merged into one axis, a sample's mask must stand h times in a row. "
                  "np.tile puts the samples in turns. Use repeat, or give the mask a head axis of size 1.",
       .unchanged = "Shapes are right and rows sum to 1. "
                    "A causal mask is the same for all and does not show it. "
                    "It hides with one head, one sample or equal lengths.",
       .training = "Some padding is read, and some last words are hidden. "
                   "Batches sorted by length make the lengths nearly equal, "
                   "so a model trains with hardly a trace.",
       .seen_in = "lsdefine/attention-is-all-you-need-keras #36"},
  };
}

}  // namespace attn
