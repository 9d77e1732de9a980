#include "trace/diagnosis/catalogue/parts.hpp"

namespace attn {

std::vector<CataloguedMistake> conventions() {
  return {
      {.id = "large-negative-fill",
       .family = "mask",
       .name = "hidden scores get a large negative number instead of −∞",
       .teacher = "exp of -30000 or less is 0 in every type, so the weights are the same. "
                  "A row without any visible key is the one exception: it becomes uniform.",
       .unchanged = "The weights and all that follows from them, wherever a row sees a key.",
       .training = "It trains as −∞ does, and keeps NaN out of rows that see nothing.",
       .conversion = "Put −∞ wherever the mask hides: np.where(mask, scaled, -np.inf)."},
      {.id = "empty-row-nan",
       .family = "mask",
       .name = "a row without any visible key is NaN instead of 0",
       .teacher = "Softmax over nothing but −∞ is 0/0, and NaN says so honestly. "
                  "Here such a row is 0, so that it cannot spoil what is computed from it.",
       .unchanged = "Every row that sees a key is the same. It shows only where all keys are hidden: "
                    "an empty sample, or left padding under a causal mask.",
       .training = "One NaN is enough to make the loss, and then all weights, NaN. "
                   "Even where the loss skips the row, its gradient does not: 0 · NaN is NaN.",
       .conversion = "Put 0 into the weights of each row whose keys are all hidden, before they meet V: "
                     "np.where(mask.any(-1, keepdims=True), weights, 0)."},
      {.id = "empty-row-uniform",
       .family = "mask",
       .name = "a row without any visible key is uniform instead of 0",
       .teacher = "With a finite fill such as −1e9 all hidden scores are equal, "
                  "and softmax spreads the row evenly. Nobody should read that row; here it is 0.",
       .unchanged = "Every row that sees a key is the same, and the rows sum to 1 without exception. "
                    "Only a row whose keys are all hidden differs.",
       .training = "It trains safely, for no NaN can arise. "
                   "But the empty row is an average of padding or of the future, "
                   "so no loss and no later layer may read it.",
       .conversion = "Multiply the weights by whether the row sees any key, before they meet V: "
                     "weights * mask.any(-1, keepdims=True)."},
      {.id = "padded-rows-zero",
       .family = "mask",
       .name = "the rows of padded queries are 0, or follow from such rows",
       .teacher = "Nobody reads what a padded query finds. "
                  "Here it is computed like any other row, with you it is 0 somewhere.",
       .unchanged = "Every row of a real token is the same.",
       .training = "It trains the same, where the loss leaves padding out.",
       .conversion = "Compare the rows of real tokens alone."},
      {.id = "mask-true-hidden",
       .family = "mask",
       .name = "true in the mask means hidden instead of seen",
       .teacher = "Both are in use: true is 'may be seen' in scaled_dot_product_attention and Keras, "
                  "'is hidden' in nn.MultiheadAttention and for masked_fill. "
                  "Say which, where the mask is made.",
       .unchanged = "Scores, weights and output are the same. Only the mask itself is the negation of ours.",
       .training = "It makes no difference "
                   "as long as the code that makes the mask and the code that reads it agree. "
                   "Where they do not, the mask is inverted.",
       .conversion = "Negate the mask, or say --mask-true hidden."},
      {.id = "scores-already-scaled",
       .family = "scale",
       .name = "scores are divided by √d_k already, and scaled equals them",
       .teacher = "Your scores are Q Kᵀ / √d_k, and ours are Q Kᵀ. "
                  "Most programs write both in one line, so the undivided product never has a name.",
       .unchanged = "scaled, weights and output are the same. "
                    "Only what is saved as scores differs, and by √d_k exactly.",
       .training = "It is the same computation with another name for its middle, so training is the same.",
       .conversion = "Save Q Kᵀ before the division as scores, "
                     "or multiply yours by √d_k, or leave scores out of the dump."},
      {.id = "scale-in-weights",
       .family = "scale",
       .name = "the scale is in W_Q or in the queries, or split as 1/d_k^(1/4) on both Q and K",
       .teacher = "(Q / √d_k) Kᵀ is the same product. A scale within W_Q or Q saves a pass over the scores: "
                  "PyTorch's multi-head attention divides each head's queries. "
                  "A fourth root on each side keeps half precision from overflowing.",
       .unchanged = "scaled, weights and output are the same but for rounding. "
                    "Q, K, or their heads, and scores differ by constant factors.",
       .training = "It is the same function. "
                   "Where the folded W_Q itself is trained, its gradient is larger by √d_k "
                   "and its values smaller, which asks for another learning rate.",
       .conversion = "Multiply your Q, or its heads, and your scores by √d_k; "
                     "where both sides are divided, Q and K by d_k^(1/4) each and scores by √d_k. "
                     "Or compare from scaled on."},
      {.id = "scale-by-layer",
       .family = "scale",
       .name = "the scores are also divided by the layer's number",
       .teacher = "GPT-2's option scale_attn_by_inverse_layer_idx divides the scores of layer l by l + 1, "
                  "with l counted from 0, to keep half precision in range. "
                  "The model chose it; it is no slip.",
       .unchanged = "Rows sum to 1, and each row ranks its keys as before. "
                    "In the first layer nothing differs.",
       .training = "Models are trained with it on purpose, for steadier half precision in deep layers. "
                   "Weights trained with it need it at inference, too.",
       .conversion = "Multiply your scaled scores by l + 1, with l counted from 0, "
                     "or switch scale_attn_by_inverse_layer_idx off.",
       .stated = "the divisor of scaled"},
      {.id = "norm-epsilon",
       .family = "norm",
       .name = "layer norm has another epsilon than 1e-5",
       .teacher = "Epsilon only keeps the root from 0, and every library chooses its own. "
                  "PyTorch has 1e-5, Keras 1e-3, BERT 1e-12.",
       .unchanged = "Rows whose variance is near 1 hardly differ. "
                    "Rows of equal numbers, such as padding, show it most.",
       .training = "It trains alike. Weights need the epsilon that they were trained with only where rows "
                   "have hardly any variance.",
       .conversion = "Pass the epsilon by name: eps=1e-5 in PyTorch, epsilon=1e-5 in Keras and Flax."},
      {.id = "norm-after-sum",
       .family = "norm",
       .name = "the layer norms stand after the sums instead of before the sublayers",
       .teacher = "Post-norm, as the first transformer has it: x = LN(x + sublayer(x)). "
                  "Asked is pre-norm: x = x + sublayer(LN(x)).",
       .unchanged = "Shapes are right, and each weight is used once.",
       .training = "Post-norm needs a warm-up and small first steps, pre-norm does not. "
                   "Weights trained in one order do not work in the other.",
       .conversion = "Move LN, or check against --norm post.",
       .stated = "the option --norm, and the formula of each norm and sum"},
      {.id = "rnn-padding-rows",
       .family = "recurrence",
       .name = "the forward LSTM goes on through the padding, whose rows are not 0",
       .teacher = "What comes after a sentence changes none of its states, "
                  "as long as nobody reads those rows. A packed sequence leaves them 0.",
       .unchanged = "The states of all words are right.",
       .training = "It makes no difference where attention masks the padding "
                   "and the last state is taken at each sentence's own length.",
       .conversion = "Put 0 where t ≥ the length, or pack the sequence."},
      {.id = "concat-order",
       .family = "recurrence",
       .name = "two vectors are joined in the other order",
       .teacher = "[a; b] W and [b; a] W differ by which rows of W read which vector. "
                  "Join them in the order in which the weights were trained.",
       .unchanged = "Shapes are right wherever both vectors are of one length.",
       .training = "From scratch both orders train alike. Loaded weights do not fit the other one.",
       .conversion = "Exchange the upper and the lower rows of W. Here it is [context; state] for W_c, "
                     "[state; context] for Bahdanau's output, [decoder; encoder] for the scores.",
       .stated = "the formula of each joined pair: [a; b]"},
      {.id = "normaliser-epsilon",
       .family = "efficient",
       .name = "an epsilon is added to the normaliser of linear attention",
       .teacher = "φ(q) · z is never 0 in exact arithmetic. "
                  "1e-6, as in the authors' code, protects half precision.",
       .unchanged = "Everything but the last digits.",
       .training = "It makes no difference.",
       .conversion = "Leave the epsilon out, or compare with a tolerance of 1e-5."},
      {.id = "gelu-by-tanh",
       .family = "feed-forward",
       .name = "GELU is computed with tanh instead of erf",
       .teacher = "x/2 · (1 + tanh(√(2/π) (x + 0.044715 x³))) approximates GELU. "
                  "GPT-2 was trained with it, so there it is the right one.",
       .unchanged = "It is off by less than 0.0005, so a tolerance of 1e-3 lets it through.",
       .training = "Both train alike, and weights of one work with the other.",
       .conversion = "approximate=\"none\" in PyTorch, approximate=False in JAX and Keras.",
       .stated = "the formula of ffn/hidden: erf"},
      {.id = "scores-shifted",
       .family = "scores",
       .name = "a constant is added to all scores of a row",
       .teacher = "Softmax does not change when a whole row moves by one number, so this is as right. "
                  "The usual reasons are ALiBi written as slope·j instead of −slope·(i − j), "
                  "and scores that are saved after their row's maximum was subtracted.",
       .unchanged = "Weights, output and every gradient are the same. "
                    "Only the scores differ, by one number a row.",
       .training = "Training is the same. In float16 and bfloat16 a large constant costs digits, "
                   "for large numbers are stored more coarsely.",
       .conversion = "Subtract each row's maximum from your scores and from ours before comparing. "
                     "For ALiBi write −slope·(i − j) instead of slope·j."},
      {.id = "rope-common-offset",
       .family = "positions",
       .name = "the positions of queries and keys are shifted by the same offset",
       .teacher = "RoPE's scores depend on the difference of two positions, so a common offset cancels. "
                  "Counting from 1, or from any other start, is as right.",
       .unchanged = "Scores, weights and output are the same but for rounding. "
                    "The rotated queries and keys differ and keep their norms.",
       .training = "Training is the same. A large offset costs digits of the angle in low precision, "
                   "so compute angles in float32 at least.",
       .conversion = "Subtract the offset from all positions before the angles are made, "
                     "or compare scores instead of the rotated Q and K."},
  };
}

}  // namespace attn
