#include "trace/diagnosis/catalogue/parts.hpp"

namespace attn {

std::vector<CataloguedMistake> mistakes_of_dropout() {
  return {
      {.id = "dropout-at-inference",
       .family = "dropout",
       .name = "dropout is left on at inference",
       .teacher = "Dropout belongs to training. "
                  "Here some weights are 0, the rest are larger by 1/(1 − p), and rows do not sum to 1. "
                  "Call eval(), or pass 0 to the functional form, which knows no mode.",
       .unchanged = "Shapes are right, and nothing comes from the future. "
                    "Rows sum to 1 on average over many runs. A fixed seed hides that two runs differ.",
       .training = "Training is where dropout belongs, so the loss shows nothing. "
                   "Evaluation is noisy and looks like that of a somewhat weaker model.",
       .seen_in = "pytorch #124464, timm #1978, and a seed document"},
      {.id = "dropout-before-softmax",
       .family = "dropout",
       .name = "dropout strikes the scores before softmax",
       .teacher = "A dropped score becomes 0, and exp(0) is a weight like others: nothing is dropped. "
                  "Softmax then makes the row sum to 1, so nobody sees it. "
                  "Drop the weights, after softmax.",
       .unchanged = "Rows sum to 1 exactly, even in training, where with right dropout they do not. "
                    "At p = 0 or in eval mode nothing differs.",
       .training = "It trains with noise on the scores, a regulariser of another kind. "
                   "Behind a mask of −∞ a dropped key gives −∞ · 0, and the loss is NaN.",
       .seen_in = "AKT #11"},
      {.id = "dropout-on-output",
       .family = "dropout",
       .name = "dropout strikes the output instead of the weights",
       .teacher = "Attention's dropout strikes single weights, so that a query misses whole keys. "
                  "Yours strikes features of the output. Move it between softmax and the product with V.",
       .unchanged = "Scores and weights are untouched, and rows sum to 1. "
                    "At p = 0 or in eval mode nothing differs.",
       .training = "It trains well: this is residual dropout, which many blocks have besides. "
                   "Only the attention pattern itself is free to overfit.",
       .seen_in = "min-decision-transformer #2"},
  };
}

}  // namespace attn
