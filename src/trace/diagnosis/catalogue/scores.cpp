#include "trace/diagnosis/catalogue/parts.hpp"

namespace attn {

std::vector<CataloguedMistake> mistakes_of_scores() {
  return {
      {.id = "key-not-transposed",
       .family = "scores",
       .name = "K is not transposed: the scores are Q K, or K is reshaped into Kᵀ's shape",
       .teacher = "A score pairs a row of Q with a row of K. "
                  "Q K, or K reshaped to [d_k×n], mixes features of different tokens. "
                  "Swap the last two axes: K.transpose(-2, -1), or swapaxes.",
       .unchanged = "Shapes are right and rows sum to 1: Q K runs where there are as many keys as d_k, "
                    "a reshape runs always and hides with one key. "
                    "A later token changes earlier rows despite the mask.",
       .training = "Which features meet depends on the place in the sentence, and W_K cannot undo that. "
                   "A short task of fixed length is learnt from the values and the residual path alone."},
      {.id = "qk-swapped",
       .family = "scores",
       .name = "the scores are K Qᵀ instead of Q Kᵀ",
       .teacher = "Rows belong to queries and columns to keys, so the product is Q Kᵀ. "
                  "K Qᵀ is its transpose, and the keys now choose among the queries. "
                  "Look at the order of the two operands.",
       .unchanged = "Where there are as many queries as keys, shapes are right and rows sum to 1. "
                    "It hides where Q = K. Written for column-major storage, K Qᵀ is the right order.",
       .training = "In self-attention W_Q and W_K only trade their roles, "
                   "and training from scratch goes as well. "
                   "With loaded weights each token looks at those that should look at it.",
       .seen_in = "DEForm's QSW"},
      {.id = "additive-no-tanh",
       .family = "scores",
       .name = "the additive score has no tanh",
       .teacher = "Without tanh an additive (Bahdanau) score is "
                  "a part of the query plus a part of the key. "
                  "Softmax cancels the query's part, so all queries get the same weights. "
                  "Put tanh before v_a.",
       .unchanged = "Shapes are right and rows sum to 1. "
                    "A test with one query cannot see that all rows are equal. "
                    "It nearly hides where the projections are close to 0, for tanh x is about x there.",
       .training = "A decoder trains with it as one "
                   "that takes the same weighted sum of the source at every step. "
                   "The loss falls, and an alignment never forms.",
       .seen_in = "da-rnn #3"},
  };
}

}  // namespace attn
