#include "trace/diagnosis/catalogue/parts.hpp"

namespace attn {

std::vector<CataloguedMistake> mistakes_of_heads() {
  return {
      {.id = "heads-reshape-only",
       .family = "heads",
       .name = "heads are split by a reshape without a transpose",
       .teacher = "A head takes a slice of every token's features. "
                  "Reshape to [n, h, d_k] first, then swap the token and the head axis. "
                  "A reshape straight to [h, n, d_k] cuts across tokens.",
       .unchanged = "Shapes are right, rows sum to 1, "
                    "and merge(split(x)) = x where the merge only reshapes, too. "
                    "Head h is a block of tokens. It hides with one head or one token.",
       .training = "Tokens of different blocks never meet in attention. "
                   "The residual path and the feed-forward layers learn a good deal all the same, "
                   "so only the loss is higher.",
       .seen_in = "FuxiCTR #30"},
      {.id = "merge-reshape-only",
       .family = "heads",
       .name = "heads are merged by a reshape without transposing back",
       .teacher = "Before the merge the axes are [h, n, d_v]. "
                  "Swap head and token, then reshape to [n, h·d_v]. "
                  "Without the swap a row strings several tokens of one head together.",
       .unchanged = "All weights and all shapes are right. "
                    "The merged tensor holds the right numbers in wrong places, so its sum and norm stay. "
                    "It hides with one head or one token.",
       .training = "The permutation is fixed for a given length, so a copy task still trains. "
                   "Under a causal mask it carries later tokens into earlier rows, "
                   "and the loss looks too good.",
       .seen_in = "jsbaan PR #6"},
      {.id = "merge-feature-first",
       .family = "heads",
       .name = "heads are merged as [d_v, head] instead of [head, d_v]",
       .teacher = "A merged row holds all of head 0, then all of head 1. "
                  "Here it holds feature 0 of every head, then feature 1. "
                  "Transpose to [n, h, d_v], not to [n, d_v, h], before the reshape.",
       .unchanged = "All weights and shapes are right, and each token keeps its own numbers, "
                    "so causality holds. It hides with one head, and where d_v = 1.",
       .training = "It only numbers the rows of W_O in another way, and a model trains exactly as well. "
                   "Loaded weights of somebody else's W_O meet the wrong features."},
      {.id = "heads-summed",
       .family = "heads",
       .name = "heads are added up instead of concatenated",
       .teacher = "Each head has its own part of the result. "
                  "Concatenate along the features, so that W_O can weigh the heads apart; "
                  "in a sum one head can cancel another.",
       .unchanged = "The weights of every head are right. The width is d_v instead of h·d_v, "
                    "which nobody sees where W_O is built for it or a head is as wide as d_model. "
                    "It hides with one head.",
       .training = "It equals a W_O whose blocks are all alike. "
                   "Each head's W_V can learn to write to features of its own, "
                   "so a model trains with little loss.",
       .seen_in = "functional-transformer #8"},
      {.id = "heads-averaged",
       .family = "heads",
       .name = "heads are averaged instead of concatenated",
       .teacher = "A mean mixes what the heads keep apart, and their differences cancel. "
                  "Concatenate along the feature axis. "
                  "Look for mean over the head axis where a reshape should stand.",
       .unchanged = "The weights of every head are right, and rows sum to 1. "
                    "The result has the size of a single head's, in width and in values. "
                    "It hides with one head.",
       .training = "It trains with h times fewer features after attention, "
                   "and each head gets 1/h of the gradient. "
                   "Graph attention networks average on purpose, in their last layer.",
       .seen_in = "a public list of common mistakes"},
      {.id = "heads-tied",
       .family = "heads",
       .name = "every head reads head 0's queries or keys",
       .teacher = "Each head must read its own slice of Q and of K. Here all of them take head 0's. "
                  "Look for an index that stays 0, or for a loop variable that is never used.",
       .unchanged = "Shapes are right, rows sum to 1, "
                    "nothing comes from the future, and head 0 itself is right. It hides with one head.",
       .training = "Heads keep values of their own, so it trains, with less variety in what they look at. "
                   "Only maps of all heads side by side show it.",
       .seen_in = "DEForm's QTH"},
      {.id = "gqa-tile",
       .family = "heads",
       .name = "key and value heads are tiled where each should be repeated in place",
       .teacher = "In grouped-query attention h/h_kv neighbouring query heads share one key head. "
                  "np.tile pairs them in turns instead. "
                  "Use repeat_interleave, or np.repeat on the head axis.",
       .unchanged = "Shapes are right and rows sum to 1. "
                    "It hides where there is one key head (MQA) and where each query head has its own (MHA).",
       .training = "From scratch it trains as well, for the pairing is only a numbering of heads. "
                   "A loaded checkpoint pairs queries with keys they never met, and writes noise.",
       .seen_in = "onnx #7274"},
      {.id = "repeat-kv-axis",
       .family = "heads",
       .name = "key and value heads are repeated along the token axis",
       .teacher = "The repetition runs along the tokens, "
                  "so a head holds a part of the sentence with each key several times. "
                  "Insert an axis after the head axis, expand it, then merge those two.",
       .unchanged = "After the reshape shapes are right and rows sum to 1. "
                    "It hides where there are as many key heads as query heads, "
                    "for then nothing is repeated, and with a single token.",
       .training = "A head sees one stretch of the sentence, and a causal mask now hides the wrong tokens. "
                   "A model trains on what leaks, and its generation does not match.",
       .seen_in = "tiny-universe #21"},
  };
}

}  // namespace attn
