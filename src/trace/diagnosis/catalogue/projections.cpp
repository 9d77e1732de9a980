#include "trace/diagnosis/catalogue/parts.hpp"

namespace attn {

std::vector<CataloguedMistake> mistakes_of_projections() {
  return {
      {.id = "no-output-projection",
       .family = "projection",
       .name = "the output projection W_O is missing",
       .teacher = "Concatenated heads only lie side by side. "
                  "W_O mixes them and brings them back to d_model. "
                  "Look for an output layer that is created and never called.",
       .unchanged = "Weights and heads are right, "
                    "and the shape is right where h·d_v = d_model, the usual choice. "
                    "It hides where W_O is the identity.",
       .training = "The feed-forward layer mixes the heads, too, "
                   "so a model trains with a slightly higher loss. "
                   "W_O gets no gradient, and that is how to find it.",
       .seen_in = "Kyubyong #117"},
      {.id = "wrong-projection",
       .family = "projection",
       .name = "one of Q, K, V is projected with the weight of another, as in V = X W_K",
       .teacher = "Q, K and V each have a matrix of their own, and one was used twice. "
                  "Look for a copied line in which a single name was not changed.",
       .unchanged = "Shapes are right where d_k = d_v, and rows sum to 1 in any case. "
                    "If V is the wrong one, even the weights are right. "
                    "Equal matrices, such as identities in a toy test, hide it.",
       .training = "Sharing a matrix makes a smaller model, not a broken one, and it trains. "
                   "The forgotten matrix gets no gradient. With K = Q each token mostly finds itself.",
       .seen_in = "DeepCTR #494"},
      {.id = "weight-transposed",
       .family = "projection",
       .name = "a weight is multiplied as its transpose",
       .teacher = "nn.Linear keeps its weight as [out×in] and multiplies by the transpose. "
                  "A plain matrix [in×out] multiplies as it is. See which layout your file has.",
       .unchanged = "It runs only where the weight is square, as with h·d_k = d_model. "
                    "There shapes and row sums are right. A symmetric weight hides it.",
       .training = "From scratch nothing is lost: the transpose is learnt instead. "
                   "It breaks weights that were trained elsewhere, without an error.",
       .seen_in = "nntile PR #370"},
      {.id = "qkv-layout",
       .family = "projection",
       .name =
           "the projections stand in another order, as K and V swapped or a fused QKV that is split wrongly",
       .teacher = "A fused QKV can lie as all of Q, then K, then V, "
                  "or head by head as q, k, v, or by groups. "
                  "Reshape it to the axes that the file was packed with, and only then take it apart.",
       .unchanged = "The three pieces have the right shapes, and rows sum to 1. "
                    "With one head the layout by heads is the same as the layout by matrices.",
       .training = "From scratch any layout trains alike, since channels have no names. "
                   "Only a checkpoint that was packed in another order is misread, "
                   "and then it writes noise.",
       .seen_in = "vllm #53114"},
  };
}

}  // namespace attn
