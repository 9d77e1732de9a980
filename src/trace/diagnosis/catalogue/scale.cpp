#include "trace/diagnosis/catalogue/parts.hpp"

namespace attn {

std::vector<CataloguedMistake> mistakes_of_scale() {
  return {
      {.id = "no-scale",
       .family = "scale",
       .name = "the scores are not divided by √d_k",
       .teacher = "A score is a sum of d_k products, so its spread grows like √d_k and softmax saturates. "
                  "Divide between Q Kᵀ and the mask. Look for a quotient that is computed and never used.",
       .unchanged = "Shapes are right, rows sum to 1, and every row ranks its keys as before. "
                    "It hides where d_k = 1.",
       .training = "A small model trains: W_Q and W_K shrink to make up for it. "
                   "With a large d_k softmax starts nearly one-hot, "
                   "its gradient is nearly 0, and learning is slow.",
       .seen_in = "cntkx #10, mlc-llm #3426"},
      {.id = "scale-d-model",
       .family = "scale",
       .name = "the scores are divided by √d_model instead of √d_k",
       .teacher = "The variance of a dot product grows with the length of its two vectors. "
                  "Within a head that length is d_k, not d_model. "
                  "Look at the variable under the square root.",
       .unchanged = "Shapes are right, rows sum to 1, and nothing comes from the future. "
                    "It hides where there is one head, for then d_k = d_model.",
       .training = "A model still trains: softmax is only flatter, and W_Q can grow to make up for it. "
                   "Weights that were trained with the right scale give another output.",
       .seen_in = "ViT-CIFAR PR #11, set_transformer #18, ng-video-lecture PR #6"},
      {.id = "scale-heads",
       .family = "scale",
       .name = "the scores are divided by √h, the root of the number of heads",
       .teacher = "The number of heads does not enter a dot product; the number of its terms does. "
                  "Look at the shape that d_k is read from: "
                  "after the transpose another axis stands in that place.",
       .unchanged = "Shapes and row sums are right. "
                    "It hides where there are as many heads as features in a head, as with 8 heads of 8.",
       .training = "The wrong factor is a constant, and W_Q learns it away. "
                   "With few heads and a large d_k the scores start too large, "
                   "so the first epochs are slow.",
       .seen_in = "tt-metal #56789"},
      {.id = "scale-keys",
       .family = "scale",
       .name = "the scores are divided by √n, the root of the number of keys",
       .teacher = "A score is a sum over the features of a query and a key, so its size depends on d_k. "
                  "How many keys there are does not enter it. "
                  "Look at the axis that the length under the square root is read from.",
       .unchanged = "Shapes are right, rows sum to 1, and every row ranks its keys as before. "
                    "It hides where there are as many keys as features in a head.",
       .training = "On texts of one length it is a constant, and W_Q learns it away. "
                   "On a longer text the same scores are divided by more, and attention blurs."},
      {.id = "scale-d-k",
       .family = "scale",
       .name = "the scores are divided by d_k instead of √d_k",
       .teacher = "d_k is the variance of a score; what normalises it is its standard deviation, √d_k. "
                  "Look for a missing sqrt, or for an exponent of -1 that should be -0.5.",
       .unchanged = "Rows sum to 1, and every row ranks its keys as before. It hides where d_k = 1. "
                    "It equals dividing by √d_k twice, and no test can tell the two apart.",
       .training = "Attention starts close to the plain average of the values and sharpens as W_Q grows. "
                   "The maximal update parametrisation (muP) even uses this scale on purpose."},
      {.id = "scale-multiplied",
       .family = "scale",
       .name = "the scores are multiplied by √d_k instead of divided",
       .teacher = "The scale has to make large scores smaller, and here it makes them larger. "
                  "If it is a variable, see whether it holds √d_k or 1/√d_k, "
                  "and whether the line that uses it agrees.",
       .unchanged = "Masks hold, rows sum to 1, and the strongest key of each row stays the strongest. "
                    "It hides where d_k = 1.",
       .training = "Scores are d_k times too large. "
                   "Softmax is one-hot from the start and passes hardly any gradient, "
                   "so learning stalls unless W_Q and W_K start very small.",
       .seen_in = "perceiver-io #9, maxtext #1370"},
      {.id = "scale-twice",
       .family = "scale",
       .name = "the scores are divided by √d_k twice",
       .teacher = "Two places divide by √d_k: often the query before the product, "
                  "and then the scores or the fused kernel, which scales by default. Keep one of the two.",
       .unchanged = "Shapes, row sums and causality are right, "
                    "and a test that asks for the strongest key passes. "
                    "It hides where d_k = 1, and it always equals dividing by d_k.",
       .training = "From scratch W_Q grows against it. "
                   "It costs most where somebody else's checkpoint is loaded: "
                   "nothing fails, and the answers become vague.",
       .seen_in = "maxtext #3138",
       .same_as = "scale-d-k"},
      {.id = "scale-after-softmax",
       .family = "scale",
       .name = "the weights are divided by √d_k after softmax, instead of the scores before it",
       .teacher = "Softmax must see scores that are scaled already. "
                  "Dividing its result leaves it as sharp as before "
                  "and makes every row sum to the same number below 1. Move the division up.",
       .unchanged = "Shapes are right, hidden keys stay at 0, "
                    "and ratios within a row look like those without a scale. "
                    "Row sums give it away, except where d_k = 1.",
       .training = "W_O or a layer norm takes the constant factor out again. "
                   "The unscaled softmax remains, and for a large d_k it learns slowly.",
       .seen_in = "FrancescoSaverioZuppichini/ViT #2"},
  };
}

}  // namespace attn
