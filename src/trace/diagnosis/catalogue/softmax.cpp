#include "trace/diagnosis/catalogue/parts.hpp"

namespace attn {

std::vector<CataloguedMistake> mistakes_of_softmax() {
  return {
      {.id = "softmax-axis",
       .family = "softmax",
       .name = "softmax is taken along the wrong axis",
       .teacher = "Each query shares out 1 among the keys, "
                  "so softmax runs along the keys, the last axis of the scores. "
                  "Look at the axis or dim argument, or at the default where none is given.",
       .unchanged = "Shapes are right, and all weights lie between 0 and 1. "
                    "Columns sum to 1 instead of rows. Under a causal mask the future stays at 0, "
                    "yet an early row now depends on later queries.",
       .training = "A causal language model can read the future through the shared denominator: "
                   "its training loss may look excellent, and generation fails. "
                   "An encoder only trains worse.",
       .seen_in = "PyTorch-NLP #2, labml #146"},
      {.id = "softmax-not-divided",
       .family = "softmax",
       .name = "softmax's exponentials are not divided by their sum",
       .teacher = "exp makes every share positive; dividing by the row's sum makes the shares sum to 1. "
                  "That second half is missing. "
                  "Look for a sum that is computed and not used, or for a forgotten keepdims line.",
       .unchanged = "Shapes are right, hidden keys stay at 0, and every row ranks its keys as before. "
                    "With the maximum subtracted, no weight passes 1. "
                    "Row sums give it away, except where a row sees a single key.",
       .training = "A layer norm behind it takes most of the wrong size out, so a model may train. "
                   "Each query then adds up more the more keys it sees, and long texts drift away."},
      {.id = "softmax-no-shift",
       .family = "softmax",
       .name = "softmax does not subtract the row's maximum",
       .teacher = "exp of a large score overflows to inf, and inf / inf is NaN. "
                  "Subtract the row's maximum before exp: "
                  "softmax does not change, and no exponent is above 0.",
       .unchanged = "All is exact while scores are moderate, whatever the shapes. "
                    "It shows where a scaled score passes 88.7 in float32 or bfloat16, "
                    "11 in float16, 709 in float64. "
                    "attnlab break shows what float32 gives.",
       .training = "A model trains well until one score passes the limit. "
                   "Then the loss is NaN from one step to the next, often late and at a high learning rate.",
       .seen_in = "executorch #18407, FasterTransformer #43"},
      {.id = "keys-for-values",
       .family = "softmax",
       .name = "the output is weights K instead of weights V",
       .teacher = "Keys say what a token can be found by, values what it hands over. "
                  "The weights mix the values. Look at the second operand of the last product.",
       .unchanged = "All weights are right. The shape is right where d_k = d_v, the usual choice. "
                    "It hides where keys and values are the same, as in a plain soft lookup.",
       .training = "W_K learns to serve both ends, and a model trains with a somewhat higher loss. "
                   "W_V gets no gradient, and that is how to find it."},
      {.id = "weights-transposed",
       .family = "softmax",
       .name = "the output is weightsᵀ V instead of weights V",
       .teacher = "Row i of the output adds up the values with the weights of row i. "
                  "The transpose takes column i, which does not sum to 1. "
                  "Look for a transpose or swapped letters in bmm or einsum.",
       .unchanged = "The weights are right and pass every test. "
                    "The output's shape is right where there are as many queries as keys. "
                    "Under a causal mask it reads the future, which no test of the weights sees.",
       .training = "An image model trains with it, for each pixel still gathers from others. "
                   "A causal language model copies the next token: "
                   "its loss collapses, and generation is nonsense.",
       .seen_in = "Self-Attention-GAN #11"},
  };
}

}  // namespace attn
