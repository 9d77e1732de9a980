/// The mistakes and the conventions that `check` can name and `break` can make, part of attention by part.

#include "trace/diagnosis/catalogue.hpp"

#include <algorithm>

namespace attn {

const std::vector<CataloguedMistake>& catalogue() {
  static const std::vector<CataloguedMistake> table = {
      // The scale.
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
       .seen_in = "maxtext #3138"},
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
      // Scores and scoring functions.
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
      // Softmax and the weighted sum.
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
      // Masks.
      {.id = "mask-missing",
       .family = "mask",
       .name = "the mask is not applied at all",
       .teacher = "The mask never reaches the scores. "
                  "Follow it from where it is made: an argument that is not passed on, "
                  "or masked_fill without the underscore, whose result is dropped.",
       .unchanged = "Shapes are right and rows sum to 1. "
                    "It hides on one sentence without padding and without a causal mask, "
                    "which is how a layer is usually tested.",
       .training = "A causal model sees its own targets, and its loss falls to nearly nothing. "
                   "An encoder trains almost as well as a right one, "
                   "with padding as noise in every average.",
       .seen_in = "tensorflow/addons PR #133, jax #23349"},
      {.id = "causal-missing",
       .family = "mask",
       .name = "the causal part of the mask is forgotten, the rest is applied",
       .teacher = "The keys that are hidden for another reason are hidden, and those to come are seen. "
                  "Combine both conditions with 'and' before softmax. "
                  "Look for a mask that replaces another where it should join it.",
       .unchanged = "Padding keeps no weight, shapes are right and rows sum to 1. "
                    "Only changing a later token shows it: an earlier row changes.",
       .training = "A language model sees the word that it is asked for, and its loss falls to nearly "
                   "nothing. Generation fails, for there is nothing ahead to look at."},
      {.id = "padding-missing",
       .family = "mask",
       .name = "the padding is not masked, the rest of the mask is applied",
       .teacher = "A batch is as long as its longest sentence; what fills the shorter ones up is no word. "
                  "Combine the lengths with the causal mask or the window by 'and'.",
       .unchanged = "Nothing comes from the future, and rows sum to 1. "
                    "It hides in a batch of equal lengths. "
                    "Under a causal mask, padding at the end reaches only rows that are padding, too.",
       .training = "A causal model with padding at the end trains as well, if the loss leaves padding out. "
                   "With padding at the start, or none but a window, an answer depends on its batch."},
      {.id = "window-missing",
       .family = "mask",
       .name = "the window is not applied, the rest of the mask is",
       .teacher = "Each query sees all keys that the causal mask and the padding leave, however far away. "
                  "Follow the window's size to the place where the mask is made.",
       .unchanged = "Nothing comes from the future, padding keeps no weight, and rows sum to 1. "
                    "It hides in every text that is no longer than the window.",
       .training = "A model trains as well and sees more than was meant, at a higher cost. "
                   "A checkpoint of a model with a window differs as soon as a text is longer."},
      {.id = "mask-inverted",
       .family = "mask",
       .name = "the mask keeps what it should hide",
       .teacher = "True means 'may be seen' in one library and 'is hidden' in another, "
                  "and here the two met. Negate the mask once, where it is made.",
       .unchanged = "Shapes are right, and rows that keep a key sum to 1. "
                    "The last row of a causal mask has no key left: "
                    "it is NaN, or uniform with a finite fill. It hides where there is no mask.",
       .training = "With −∞ the empty row makes the loss NaN at once. "
                   "With −1e9 a language model sees the next token and copies it, "
                   "so the loss drops far too fast.",
       .seen_in = "LLMs-from-scratch #1061"},
      {.id = "mask-diagonal",
       .family = "mask",
       .name = "the causal mask hides the diagonal, too",
       .teacher = "A token may attend to itself: j = i is the present, not the future. "
                  "Look at the offset of triu or tril; what is hidden starts one above the diagonal.",
       .unchanged = "From row 1 on nothing comes from the future, and rows sum to 1. "
                    "Row 0 gives it away: it has no key left, and is NaN, 0, or uniform over all tokens.",
       .training = "With −1e9 it trains well, for the residual path carries the token itself. "
                   "With −∞ the first row is NaN, and after one step so are all weights.",
       .seen_in = "pbloem/former #10"},
      {.id = "mask-leaks-one",
       .family = "mask",
       .name = "the causal mask lets each token see the next one",
       .teacher = "Query i sees the keys up to i. "
                  "Here one more diagonal is open, so each token sees its successor. "
                  "Look for j <= i + 1, or for an offset one too large in triu or tril.",
       .unchanged = "Shapes are right, rows sum to 1, and nearly all of the upper triangle is 0. "
                    "Only the first diagonal above the main one shows it. It hides with a single token.",
       .training = "The next token is the very target of a language model, so the loss falls close to 0. "
                   "Generation then fails, for there is nothing ahead to look at."},
      {.id = "mask-fill-zero",
       .family = "mask",
       .name = "hidden scores are filled with 0 or a tiny number instead of −∞",
       .teacher = "A score of 0 hides nothing: exp(0) is 1, often more than the neighbours get. "
                  "Fill with −∞ before softmax. Check sign and exponent: 1e-9 is 0 here, -1e9 was meant.",
       .unchanged = "Shapes are right and rows still sum to 1. "
                    "Hidden keys keep the same weight within a row. It hides where nothing is masked.",
       .training = "Padding takes part in every average, "
                   "so an answer depends on how far its batch is padded. "
                   "A causal model learns to use the little that it sees of the future.",
       .seen_in = "gluonts #1401, allennlp #105"},
      {.id = "mask-fill-plus-inf",
       .family = "mask",
       .name = "hidden scores are filled with +∞",
       .teacher = "The row's maximum becomes +∞, and ∞ − ∞ has no value, so the row is NaN. "
                  "The fill must be −∞. Look for a lost minus sign.",
       .unchanged = "Rows in which nothing is hidden are right: "
                    "the last row of a causal mask, a sample without padding. "
                    "A test without any mask passes.",
       .training = "It does not train: the first batch that hides anything has a loss of NaN. "
                   "With +1e9 it does train, and all attention goes to what should be hidden."},
      {.id = "mask-fill-too-small",
       .family = "mask",
       .name = "hidden scores are filled with a number that true scores can reach, such as −100",
       .teacher = "A finite fill hides a key only while the visible scores stay far above it. "
                  "Use −∞, or the lowest number of the dtype, "
                  "and then take care of rows in which all is hidden.",
       .unchanged = "With ordinary scores hidden weights vanish and every test passes. "
                    "It shows where visible scores come down to the fill or, "
                    "where the fill is added, hidden ones outweigh it.",
       .training = "It trains like the right one while scores are small. "
                   "Where they grow, as under a learned scale or without weight decay, "
                   "hidden keys begin to leak, quietly.",
       .seen_in = "TransformerLens #318, nGPT #11"},
      {.id = "mask-added-as-bool",
       .family = "mask",
       .name = "a bool mask is added to the scores as 0 and 1",
       .teacher = "True became 1 and was added to the scores, which hides nothing. "
                  "Turn the mask into 0 and −∞ first, or use where or masked_fill.",
       .unchanged = "Shapes are right and rows sum to 1. "
                    "Scores differ by exactly 0 or 1, too little to notice in a heatmap. "
                    "Where a whole row of the mask is true, weights do not change.",
       .training = "The mask is only a weak bias, and a model trains as if there were none. "
                   "Future and padding are read, and a causal model's loss looks too good.",
       .seen_in = "transformers PR #41443"},
      {.id = "mask-sum-overflow",
       .family = "mask",
       .name = "two additive masks are added and overflow where both hide",
       .teacher = "Each mask holds the lowest number of the dtype, and the sum of two is −∞. "
                  "A row of nothing but −∞ is NaN. Combine the masks as booleans, then fill once.",
       .unchanged = "It hides in float32 with −1e9, and wherever the two masks do not overlap. "
                    "With right padding each row keeps a key and comes out right; "
                    "left padding under a causal mask shows it.",
       .training = "Training in float32 shows no trace of it. "
                   "In float16 one batch with left padding is enough to make the loss NaN.",
       .seen_in = "transformers PR #27114"},
      {.id = "mask-zero-times-inf",
       .family = "mask",
       .name = "the additive mask is made by 0 · −∞, which is NaN",
       .teacher = "0 · −∞ is NaN, not 0. Do not multiply a 0/1 mask by −∞; "
                  "choose with where(mask, 0, -inf), or fill the scores with masked_fill.",
       .unchanged = "Shapes are right, and what should be hidden is −∞. "
                    "Each visible score is NaN, so only a run without a mask passes.",
       .training = "It does not train: the first masked batch has a loss of NaN. "
                   "With a large finite number in place of ∞ the same line is right, "
                   "and that is where it was copied from.",
       .seen_in = "onnx PR #8068"},
      {.id = "mask-after-softmax",
       .family = "mask",
       .name = "the weights are multiplied by the mask after softmax",
       .teacher = "Hidden keys have taken their share of the denominator by then, "
                  "so the rest of the row sums to less than 1. "
                  "Mask the scores with −∞ before softmax, or renormalise each row.",
       .unchanged = "Shapes are right, and hidden weights are exactly 0. "
                    "Row sums give it away, except where nothing is hidden. "
                    "Renormalised afterwards, it equals the right thing.",
       .training = "A layer norm evens out the smaller outputs, so it trains. "
                   "Yet the denominator still holds the scores of later tokens, "
                   "and a causal model learns from them.",
       .seen_in = "timm #2236"},
      {.id = "mask-padding-on-queries",
       .family = "mask",
       .name = "padding is masked along the query axis instead of the key axis",
       .teacher = "Padding must vanish as a key: nobody may read it. "
                  "Here the padded queries are silenced instead. "
                  "Give the mask the shape [batch, 1, 1, key], so that it repeats over queries.",
       .unchanged = "Shapes are right, and so are samples without padding. Equal lengths hide it. "
                    "In a padded sample the padded rows are uniform or NaN, and nobody looks at those.",
       .training = "Each real token averages some padding in, more in a short sentence. "
                   "A model gets used to it, and its answers change with how far a batch is padded.",
       .seen_in = "keras-io #1046"},
      {.id = "cross-mask-target",
       .family = "mask",
       .name = "cross-attention is masked with the target's padding instead of the source's",
       .teacher = "In cross-attention the keys are the source's tokens, "
                  "so the source's padding must be hidden. "
                  "Look at which mask the decoder layer hands to its second attention.",
       .unchanged = "Rows sum to 1, and self-attention is right on both sides. "
                    "It runs where source and target are padded to one length, "
                    "and it hides where each pair has equal lengths.",
       .training = "The decoder reads the source's padding, or never sees the last words of a long source. "
                   "It trains nearly as well and loses the ends of sentences.",
       .seen_in = "SeekDeeper #3"},
      {.id = "causal-in-encoder",
       .family = "mask",
       .name = "the encoder is masked causally",
       .teacher = "An encoder reads the whole sentence in both directions. "
                  "Only the decoder's self-attention must not look ahead. "
                  "Give the encoder the padding mask alone.",
       .unchanged = "Shapes are right and rows sum to 1. "
                    "A test that nothing comes from the future is even content. "
                    "The last row is right, and a single token hides it.",
       .training = "It trains, only worse: each word is encoded from its left context alone. "
                   "Only the accuracy on what depends on later words gives it away.",
       .seen_in = "DEForm's VEC"},
      {.id = "mask-combined-or",
       .family = "mask",
       .name = "two masks are combined with or where a key must be seen by both",
       .teacher = "With true for what may be seen, a key must be seen by both masks: that is and. "
                  "Or belongs to masks that have true for what is hidden. "
                  "Look at | and &, and at what true means.",
       .unchanged = "Each mask alone is right, and rows sum to 1. "
                    "It hides without padding, where one of the two shows everything.",
       .training = "Every word sees the future but for its padding, so the loss falls too fast. "
                   "A model that writes word by word then fails."},
      {.id = "cross-attends-itself",
       .family = "projection",
       .name = "in cross-attention the target's words are the keys and values, too",
       .teacher = "Queries come from the target, keys and values from the source. "
                  "Here the target looks at itself, and the source is never read. "
                  "Look at what is handed over as the second and the third argument.",
       .unchanged = "Where both sentences have the same number of words, all shapes are right. "
                    "Rows sum to 1. Only changing the source shows it: nothing happens.",
       .training = "The decoder becomes a language model: it writes well, "
                   "and what it writes has nothing to do with the source."},
      // Heads.
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
      // Projections.
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
       .name = "the fused QKV weight is split in another order than it was packed",
       .teacher = "A fused QKV can lie as all of Q, then K, then V, "
                  "or head by head as q, k, v, or by groups. "
                  "Reshape it to the axes that the file was packed with, and only then take it apart.",
       .unchanged = "The three pieces have the right shapes, and rows sum to 1. "
                    "With one head the layout by heads is the same as the layout by matrices.",
       .training = "From scratch any layout trains alike, since channels have no names. "
                   "Only a checkpoint that was packed in another order is misread, "
                   "and then it writes noise.",
       .seen_in = "vllm #53114"},
      // Positions.
      {.id = "pe-missing",
       .family = "positions",
       .name = "no positions are added",
       .teacher = "Attention takes its input as a set: without positions 'dog bites man' "
                  "and 'man bites dog' give the same rows in another order. "
                  "Look for an encoding that is computed and never added.",
       .unchanged = "Shapes, row sums and masks are right, and all tests of attention alone pass. "
                    "It shows when tokens change places: rows of the output only change places with them.",
       .training = "A classifier does well on a bag of words. "
                   "A causal model even learns some order from its mask, "
                   "for each token sees another number of keys.",
       .seen_in = "pytorch-lightning PR #20099"},
      {.id = "pe-multiplied",
       .family = "positions",
       .name = "the encoding is multiplied into the embedding instead of added",
       .teacher = "Positions are added to the embedding. "
                  "As a factor they wipe a feature out wherever the wave passes 0, "
                  "as all sines do at position 0. Look for * between X and the encoding.",
       .unchanged = "The encoding itself is right, and so are all shapes and row sums. "
                    "No choice of dimensions hides it; only the encoded input shows it.",
       .training = "It trains, and has been reported to learn faster. "
                   "What it loses are the features that meet a 0, others at each position.",
       .seen_in = "annotated-transformer #131"},
      {.id = "pe-exponent",
       .family = "positions",
       .name = "the frequencies have a wrong exponent",
       .teacher = "Pair i turns with frequency 10000^(−2i/d), and i counts pairs, not columns. "
                  "See whether your i steps by one or by two, "
                  "and whether the 2 is there once, twice or not at all.",
       .unchanged = "All values lie between −1 and 1, row 0 is right, and so is the first pair. "
                    "It hides where d = 2. With i/d as exponent it equals a base of 100.",
       .training = "Positions still differ from one another, and a model trains almost as well. "
                   "The slowest waves are too fast or too slow, which only long texts notice.",
       .seen_in = "jadore801120 #32, LoFTR #41"},
      {.id = "pe-base",
       .family = "positions",
       .name = "the frequencies have another base than 10000",
       .teacher = "The base sets the slowest wave, and with it how far positions can be told apart. "
                  "Look for a 0 too many or too few, "
                  "or for a wrong precedence as in -log(10000.0) / d // 2.",
       .unchanged = "All values lie between −1 and 1; row 0 and the first pair are right. "
                    "It hides where d = 2. A base of 100 cannot be told from the exponent i/d.",
       .training = "A model adapts to the base that it is trained with, "
                   "and some raise it on purpose for long texts. "
                   "A checkpoint needs its own, and gets worse with the distance.",
       .seen_in = "jadore801120 #32, LoFTR #41"},
      {.id = "pe-cos-exponent",
       .family = "positions",
       .name = "the cosine takes the odd column's number into its exponent",
       .teacher = "A sine and its cosine share one frequency: "
                  "columns 2i and 2i + 1 both have 2i in the exponent. "
                  "Look at the line of the cosine, which uses its own column's number.",
       .unchanged = "All sine columns are right, row 0 is right, and all values lie between −1 and 1. "
                    "No dimension hides it; a test of position 0 alone does.",
       .training = "Every position still has a pattern of its own, so a model trains as well. "
                   "Lost is that a shift by k is a rotation, which makes relative positions easy to learn.",
       .seen_in = "SamLynnEvans #7"},
      {.id = "pe-integer-division",
       .family = "positions",
       .name = "the exponent 2i/d is divided in integers and becomes 0",
       .teacher = "2i / d was divided in integers, so it is 0 for every pair and all frequencies are 1. "
                  "Divide floating-point numbers: / instead of //, or 2.0 * i / d.",
       .unchanged = "All values lie between −1 and 1, and row 0 is right. "
                    "All sine columns are equal, and all cosine columns. It hides where d = 2.",
       .training = "One wave with a period of 2π tells neighbours apart, so short sentences train well. "
                   "Tokens that are 44 apart look alike, for that is almost exactly 7 turns.",
       .seen_in = "BERT-pytorch #18"},
      {.id = "pe-off-by-one",
       .family = "positions",
       .name = "positions start at 1 instead of 0",
       .teacher = "Positions count from 0, where each sine is 0 and each cosine 1. "
                  "Your row p is the encoding of p + 1. "
                  "Look at the start of arange, or at an offset kept for a padding index.",
       .unchanged = "Shapes and ranges are right, and so are distances: "
                    "whatever depends on differences of positions alone, "
                    "such as RoPE's scores, does not change.",
       .training = "A model that is trained with the shift never notices. "
                   "Weights that were trained without it do, and a learned table runs out one token early."},
      {.id = "pe-one-row",
       .family = "positions",
       .name = "every token gets the same row of the encoding",
       .teacher = "The table was sliced or broadcast along the wrong axis, "
                  "so all tokens of a sample share a row. "
                  "See whether batch or token comes first in X, then add table[:n] along the tokens.",
       .unchanged = "Shapes and ranges are right, and the first token of the first sample is right. "
                    "It hides with a single token.",
       .training = "It trains as a model without positions: "
                   "a bag of words, but for what a causal mask tells. "
                   "A task that depends on word order stays at chance.",
       .seen_in = "DiffPoseTalk #20"},
      {.id = "positions-count-padding",
       .family = "positions",
       .name = "left padding is counted as positions",
       .teacher = "The first word of a sentence has position 0, however much padding stands before it. "
                  "Count with the mask, as in mask.cumsum(-1) - 1, "
                  "instead of an arange over the padded row.",
       .unchanged = "Right padding hides it, and so does a batch of one or of equal lengths. "
                    "Under RoPE even the scores stay, for all positions of a sample shift alike.",
       .training = "Training mostly pads on the right and sees nothing. Generation pads on the left, "
                   "and a short prompt in a batch answers otherwise than alone.",
       .seen_in = "unsloth #3699"},
      {.id = "rope-on-values",
       .family = "positions",
       .name = "RoPE rotates the values, too",
       .teacher = "RoPE works because the rotations of q and k meet in a dot product "
                  "and leave their difference. A value meets no partner, so its rotation stays. "
                  "Rotate Q and K only.",
       .unchanged = "Scores and weights are right, and each value keeps its norm. "
                    "It hides at position 0, and so with a single token.",
       .training = "It trains: the output carries absolute positions, "
                   "which later layers learn to undo or to use. "
                   "Loaded weights get worse with each token of text."},
      {.id = "rope-twice",
       .family = "positions",
       .name = "RoPE rotates by twice the angle",
       .teacher = "The angle is twice what it should be: two places rotate, or a factor of 2 got into θ. "
                  "Follow Q from its projection to the scores and count the rotations.",
       .unchanged = "Norms are kept, position 0 is right, and scores still depend on distances only. "
                    "It hides with a single token.",
       .training = "Doubled distances serve as well when a model starts from scratch. "
                   "A checkpoint reads its text as if stretched, and leaves its context at half the length.",
       .seen_in = "labml #251, leo-optimizer PR #2"},
      {.id = "rope-wrong-axis",
       .family = "positions",
       .name = "RoPE takes the head's number for the position",
       .teacher = "The angle changes from head to head and not from token to token. "
                  "See whether Q is [batch, token, head, d_k] "
                  "or [batch, head, token, d_k] where RoPE reads its positions.",
       .unchanged = "Shapes are right and norms are kept. Token 0 of head 0 is right. "
                    "Where Q and K have the same heads, scores are those without any positions.",
       .training = "It trains as a model without positions, which a causal one survives quite well. "
                   "Order within a sentence suffers, and the loss is only a little higher.",
       .seen_in = "labml #251, leo-optimizer PR #2"},
      {.id = "rope-one-side",
       .family = "positions",
       .name = "RoPE rotates the queries alone, or the keys alone",
       .teacher = "A score depends on the distance because both sides are turned, "
                  "and the two rotations leave their difference. "
                  "With one side alone it depends on that side's place in the text. "
                  "Look whether both rotated tensors are used.",
       .unchanged = "Shapes are right, norms are kept, and the pair at position 0 is right. "
                    "It hides with a single token. "
                    "It shows when the whole text moves: all scores should stay, and they change.",
       .training = "Positions are there, only absolute ones, so a model trains. "
                   "It does not carry over to places that it has not seen."},
      {.id = "rope-sign",
       .family = "positions",
       .name = "RoPE rotates in the other direction",
       .teacher = "A pair (x, y) becomes (x cos φ − y sin φ, x sin φ + y cos φ). "
                  "Here the minus sign stands at the other sine. "
                  "Look at the half that is negated before it is multiplied by the sine.",
       .unchanged = "Norms are kept, position 0 is right, and scores depend on distances only. "
                    "What is before a word is treated as if it were behind it.",
       .training = "A mirror image of the distances serves as well from scratch. "
                   "Weights that were trained in the right direction lose the order of the words."},
      {.id = "alibi-slopes",
       .family = "positions",
       .name = "ALiBi's slopes start at 1 instead of 2^(−8/h)",
       .teacher = "ALiBi's slopes are 2^(−8i/h) with i counted from 1, so the first is 2^(−8/h). "
                  "Look whether the exponent starts at 0.",
       .unchanged = "The bias is 0 on the diagonal, negative off it, and the slopes fall by the right ratio. "
                    "All are too steep by 2^(8/h), which comes close to 1 where heads are many.",
       .training = "A model trains with heads that are more short-sighted than planned. "
                   "The head that should see farthest suffers most, and with it longer texts.",
       .seen_in = "mlx #3071"},
      {.id = "alibi-sign",
       .family = "positions",
       .name = "ALiBi's bias has the wrong sign",
       .teacher = "ALiBi is a penalty: the farther the key, the lower its score. "
                  "Here distance is rewarded. "
                  "Look for a lost minus sign, or for i − j where j − i was meant.",
       .unchanged = "The bias is 0 on the diagonal, shapes are right, "
                    "rows sum to 1, and a mask still hides the future. With a single token it hides.",
       .training = "It learns slowly: "
                   "steep heads stare at the start of the text, and the flattest ones do the work. "
                   "Longer texts make it worse, the reverse of what ALiBi is for.",
       .seen_in = "attention-gym PR #86"},
      {.id = "relative-shift",
       .family = "positions",
       .name = "the relative bias sits on the wrong diagonal, or is transposed",
       .teacher = "The bias of (i, j) belongs to the distance j − i. "
                  "Yours is one diagonal off, or mirrored. "
                  "Feed the pad, reshape and slice with a table of its own indices, and read the result.",
       .unchanged = "Shapes are right and rows sum to 1. "
                    "Keys beyond the clipping distance share one entry and stay right. "
                    "A symmetric table hides the mirrored form.",
       .training = "One diagonal off is another numbering of the distances, "
                   "and a learned table adapts, but for its edge. "
                   "A table that was trained elsewhere is misread.",
       .seen_in = "labml #185"},
      {.id = "relative-bias-not-pruned",
       .family = "positions",
       .name = "heads were pruned, but the relative bias still has a row for each of them",
       .teacher = "Pruning took heads from W_Q, W_K, W_V and W_O. "
                  "The table of the bias has a column for each head, too, and is shared by all layers. "
                  "Take the kept heads' columns of the bias in the layer that lost heads.",
       .unchanged = "The bias of each kept head is right. "
                    "It hides as long as no head is pruned, and the sum fails only where the number of "
                    "heads that are left cannot be broadcast.",
       .training = "Nothing trains: the sum of scores and bias is refused, "
                   "unless the bias is cut to its first heads, which gives heads each other's bias.",
       .seen_in = "transformers #17886"},
      {.id = "bias-scale",
       .family = "positions",
       .name = "the bias is on the wrong side of the division by √d_k",
       .teacher = "ALiBi and T5 add their bias to scores that are scaled already, "
                  "and Shaw's vectors join the key before the division. "
                  "Look at which side of / √d_k the bias stands.",
       .unchanged = "The bias itself is right, and so are shapes and row sums. "
                    "It hides where d_k = 1, and without a bias.",
       .training = "A learned bias grows or shrinks by √d_k, and nobody notices. "
                   "ALiBi's slopes are fixed: its heads look √d_k times as far as planned."},
      // Recurrence: LSTM and decoder steps.
      {.id = "luong-no-tanh",
       .family = "recurrence",
       .name = "the attentional vector has no tanh",
       .teacher = "Luong's attentional vector is tanh(W_c [c; h]). "
                  "Without tanh it is a plain linear layer, and values leave the range from −1 to 1. "
                  "Look at the line before the logits.",
       .unchanged = "Scores, weights and context are right where the decoder has no input feeding. "
                    "It nearly hides where values are small, for tanh x is about x there.",
       .training = "It trains: logits become linear in context and state, "
                   "which costs a little power and nothing else. A checkpoint's logits come out too large.",
       .seen_in = "tensorflow/nmt #257"},
      {.id = "query-step",
       .family = "recurrence",
       .name = "the query is the decoder's state of another step (s_t for s_{t−1}, or the reverse)",
       .teacher = "Bahdanau asks with s_{t−1}, before the LSTM's step; Luong asks with h_t, after it. "
                  "See whether attention stands before or after the call of the cell, "
                  "and which state it is given.",
       .unchanged = "Shapes are right and rows sum to 1. "
                    "Given the same states, each row of weights is the neighbouring step's, "
                    "so a heatmap looks right, one row off.",
       .training = "Both orders are published, and both train well. "
                   "Only weights that were trained with the other order tell the difference.",
       .seen_in = "pytorch/tutorials #87"},
      {.id = "scale-added",
       .family = "scale",
       .name = "scores are divided by √d where the paper does not divide them",
       .teacher = "The scale belongs to the dot products of a transformer. "
                  "Bahdanau and Luong hand their scores to softmax as they are.",
       .unchanged = "Rows sum to 1, and each row ranks its words as before. "
                    "Only the weights are flatter.",
       .training = "The scores learn to be larger, so it trains alike. "
                   "Weights trained without the scale look at everything a little."},
      {.id = "attentional-missing",
       .family = "recurrence",
       .name = "the context is handed on without the decoder's state",
       .teacher = "Luong's vector is tanh([context; h] W_c): the context joined with the state. "
                  "The context alone holds what the decoder has written in its weights only.",
       .unchanged = "Scores, weights and context are right, and so are all shapes.",
       .training = "It trains, and forgets what it has just written: words are repeated."},
      {.id = "rnn-last-in-padding",
       .family = "recurrence",
       .name = "the decoder starts from the row of the last padding instead of the last word",
       .teacher = "A short sentence ends before the longest one does. "
                  "Take its state at its own length, or what the packed LSTM returns as h_n, "
                  "not output[:, -1].",
       .unchanged = "The states of all words are right. It hides in a batch of one and with equal lengths.",
       .training = "Short sentences begin with a state of zeros or of padding, so it trains to a worse loss. "
                   "A sentence then depends on what it is batched with."},
      {.id = "rnn-reverse-end",
       .family = "recurrence",
       .name = "the backward LSTM's state is taken at the last word, where it has read one word only",
       .teacher = "The backward LSTM ends at the first word. "
                  "output[:, -1] has its first step; its last is output[:, 0].",
       .unchanged = "The states of all words are right. It hides with one word.",
       .training = "Half of the first state knows a single word. With attention hardly anybody notices."},
      {.id = "decoder-starts-at-zero",
       .family = "recurrence",
       .name = "the decoder starts from zeros instead of the encoder's last state",
       .teacher = "The state and the memory that the encoder ends with begin the decoder. "
                  "An LSTM takes both, as a pair.",
       .unchanged = "The encoder is right in every tensor, and all shapes are.",
       .training = "Attention brings the source all the same, so it trains nearly as well."},
      {.id = "lstm-memory-not-squashed",
       .family = "recurrence",
       .name = "h is o ∘ c, without the tanh of the memory",
       .teacher = "h = o ∘ tanh(c). The memory may grow beyond 1, the state may not.",
       .unchanged = "The gates of the first step are right. Small memories hide it, for tanh(c) ≈ c.",
       .training = "It trains on short sentences. On long ones states grow and gradients with them."},
      {.id = "lstm-candidate-sigmoid",
       .family = "recurrence",
       .name = "the candidate g goes through σ instead of tanh",
       .teacher = "i, f and o are gates, between 0 and 1. "
                  "g is what would be written, and needs both signs: tanh.",
       .unchanged = "Shapes and the gates of the first step are right.",
       .training = "The memory can only grow, so it trains badly, but the loss falls."},
      {.id = "rnn-reversed-padding",
       .family = "recurrence",
       .name = "the backward LSTM starts in the padding",
       .teacher = "The backward LSTM must start at the last real token. "
                  "Reversing the padded row starts it in the padding. "
                  "Reverse each sample by its own length, or use pack_padded_sequence.",
       .unchanged = "Forward states are right, and so is the longest sample of a batch. "
                    "It hides in a batch of one or of equal lengths.",
       .training = "The LSTM learns to run through padding with little change, so it trains. "
                   "A sentence's encoding then depends on what it is batched with.",
       .seen_in = "OpenNMT #306"},
      // Layer norm and the residual path.
      {.id = "norm-unbiased",
       .family = "norm",
       .name = "layer norm divides by d − 1 in the variance, or adds eps to the standard deviation",
       .teacher = "Layer norm takes the biased variance, over d, with eps under the root. "
                  "std() in PyTorch divides by d − 1. Use var with unbiased=False, then sqrt(var + eps).",
       .unchanged = "Row means are 0 and shapes are right. "
                    "Values are off by √((d − 1)/d), one part in a thousand at d = 512, "
                    "which a loose tolerance lets through.",
       .training = "The learned gain takes up the constant factor, so training is the same. "
                   "The Annotated Transformer is written this way.",
       .seen_in = "annotated-transformer #122"},
      {.id = "norm-mean-kept",
       .family = "norm",
       .name = "layer norm does not subtract the mean",
       .teacher = "Layer norm subtracts the row's mean before it divides. "
                  "What you have is RMSNorm, which Llama uses and which has no bias: another layer.",
       .unchanged = "Shapes are right, and the rows have nearly the right length. "
                    "It hides where the rows of x have mean 0 already.",
       .training = "RMSNorm trains as well as layer norm. "
                   "Weights trained with one of them do not work with the other."},
      {.id = "norm-axis",
       .family = "norm",
       .name = "layer norm takes its mean over the tokens or the batch",
       .teacher = "Each token is normalised by itself, along the features. "
                  "Look at axis or normalized_shape: mean(-1), with keepdims.",
       .unchanged = "Shapes are right, and over all numbers the mean is still 0. "
                    "It hides with one token in a batch of one.",
       .training = "It trains, but a token's row then depends on the other tokens, the later ones included. "
                   "The loss is too good, and what is written token by token is not."},
      {.id = "norm-gain-missing",
       .family = "norm",
       .name = "gain and bias of the layer norm are missing",
       .teacher = "After the division each feature is multiplied by its gain and its bias is added. "
                  "Look whether both were loaded: their names are weight and bias, or gamma and beta.",
       .unchanged = "Before training gains are 1 and biases 0, so nothing differs. "
                    "Only trained weights, or a probe whose gains are others, show it.",
       .training = "It trains nearly as well without. A checkpoint that has them goes wrong."},
      {.id = "residual-twice",
       .family = "norm",
       .name = "the residual is added twice",
       .teacher = "Somebody adds x in the sublayer and somebody around it. "
                  "A sum belongs in one place: look into the attention that you call.",
       .unchanged = "All tensors within the sublayer are right, and all shapes. "
                    "Behind a layer norm rows still have mean 0 and variance 1.",
       .training = "The sublayers learn to speak louder, so it trains. "
                   "In a deep pre-norm stack the rows double at each sum."},
      {.id = "activation-missing",
       .family = "feed-forward",
       .name = "there is no activation between the two layers of the network",
       .teacher = "Two matrices with nothing between them are one matrix. "
                  "Put the activation behind x W_1 + b_1.",
       .unchanged = "Shapes are right, and no test of attention sees it.",
       .training = "It trains to a worse loss: the network can only mix the features of a token in one fixed "
                   "way, whatever the token is."},
      {.id = "activation-other",
       .family = "feed-forward",
       .name = "ReLU stands where GELU belongs, or GELU where ReLU belongs",
       .teacher = "Look which of the two the weights were trained with. "
                  "BERT and GPT-2 have GELU, the first transformer has ReLU.",
       .unchanged = "Shapes are right. The two are nowhere further apart than 0.17, "
                    "so a loose tolerance lets it through.",
       .training = "Both train alike. A checkpoint loses quality a layer at a time."},
      {.id = "bias-missing",
       .family = "feed-forward",
       .name = "a bias is missing",
       .teacher = "A layer adds its bias: x W + b, and an LSTM in PyTorch has two, b_ih and b_hh. "
                  "Look whether all of them were loaded.",
       .unchanged = "Before training biases are 0, so nothing differs. "
                    "Only trained weights, or a probe whose biases are others, show it. "
                    "That of the keys adds one number to a whole row of scores and changes no weight.",
       .training = "It trains nearly as well without. A checkpoint that has them goes wrong."},
      {.id = "residual-normed",
       .family = "norm",
       .name = "the residual is taken after the norm",
       .teacher = "In a pre-norm block the residual path carries x itself, "
                  "and only the sublayer sees LN(x). "
                  "Look whether x was overwritten: x = norm(x), then x = x + attention(x).",
       .unchanged = "Attention is right in every tensor, and so are all shapes. "
                    "It nearly hides where x is normalised already, "
                    "as in a first block behind an embedding norm.",
       .training = "A few layers train well. In a deep model the free path of pre-norm is gone: "
                   "each layer rescales it, gradients fade, and training needs a long warm-up.",
       .seen_in = "OLMo #680"},
      {.id = "residual-missing",
       .family = "norm",
       .name = "the residual connection is missing",
       .teacher = "The sublayer's result is added to x. "
                  "Without x a token keeps only what attention brought it and loses its own word. "
                  "Look for the sum around the sublayer.",
       .unchanged = "All tensors within attention are right. "
                    "Shapes are right, and a norm behind it still gives rows of mean 0 and variance 1.",
       .training = "One or two layers train. Deeper ones hardly do: each gradient must pass all sublayers, "
                   "and attention alone makes the rows alike (rank collapse).",
       .seen_in = "DEForm's RRS"},
      // Dropout.
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
      // The KV cache and decoding.
      {.id = "cache-offset",
       .family = "cache",
       .name = "the new token's position or mask is off by one in a decode step",
       .teacher = "With m tokens cached, the new one has position m and sees keys 0 to m. "
                  "See whether the cache's length is read before or after the new key is appended.",
       .unchanged = "The prompt is right in all rows, and every step has right shapes and row sums. "
                    "Only a decode step beside the same row of the full pass shows it.",
       .training = "Training has no cache, so its loss shows nothing. "
                   "Generated text is a little worse and repeats itself, and nobody suspects the cache.",
       .seen_in = "tiny-llm PR #46"},
      {.id = "rope-rerotated",
       .family = "cache",
       .name = "cached keys are rotated again at each step",
       .teacher = "A key enters the cache rotated and stays so. "
                  "Rotating the whole cache at each step adds to the angle every time. "
                  "Rotate the new key alone, then append it.",
       .unchanged = "The prompt is right, values are right, and keys keep their norms. "
                    "The key at position 0 turns by 0 and is always right. "
                    "It hides until the first decode step.",
       .training = "Training never reads a cache and is right. "
                   "Generation begins well and decays with its length, since old keys have turned the most.",
       .seen_in = "shainet PR #110"},
      {.id = "cache-stale",
       .family = "cache",
       .name = "a decode step reads an old entry of the cache",
       .teacher = "One slot still holds an earlier key and value where a newer pair should be. "
                  "Look at the index that is written to, "
                  "and for a copy that is updated in place of the cache itself.",
       .unchanged = "The number of keys is right, and rows sum to 1. The prompt is right. "
                    "It hides where the old and the new entry belong to the same word and carry no position.",
       .training = "Training has no cache to go stale. "
                   "While generating, a model seems not to have read its latest word, and says it again.",
       .seen_in = "DEForm's CST, CDU"},
      {.id = "cache-omits-current",
       .family = "cache",
       .name = "a decode step does not see its own token's key",
       .teacher = "A token attends to itself, too. "
                  "Here the scores are computed before its own key and value are in the cache. "
                  "Append first, then attend.",
       .unchanged = "The prompt is right, rows sum to 1, and nothing comes from the future. "
                    "A row has one key fewer than the full pass. "
                    "Without a prompt the first step has no key at all.",
       .training = "Training masks a full square and is right. "
                   "In generation the residual path still brings the token along, "
                   "so the text stays plausible and only its likelihood drops.",
       .seen_in = "DEForm's CST, CDU"},
      {.id = "cache-position-zero",
       .family = "cache",
       .name = "each new token stands at position 0",
       .teacher = "A decode step's input is one token long, "
                  "and positions counted from it start at 0 again. "
                  "Add the number of cached tokens to the position.",
       .unchanged = "The prompt is right, and so is every shape. "
                    "It hides in a model without positions, and in the very first token of a text.",
       .training = "Training sees whole sentences and counts right. "
                   "In generation each new word seems to open the text, so order is lost behind the prompt.",
       .seen_in = "mlx-vlm #1983"},
      {.id = "cache-window-early",
       .family = "cache",
       .name = "the sliding window drops a key that is still needed",
       .teacher = "The cache moved on when the text became as long as the window. "
                  "Its last place was still empty: the oldest key is gone and a row of zeros stands in the "
                  "middle. Move on only once the text is longer than the window.",
       .unchanged = "All is right until the text fills the window, "
                    "which a short prompt in a test never does. Rows sum to 1 throughout.",
       .training = "Training cuts the window by a mask, not by a cache, and is right. "
                   "A long generation misses one key a row, which costs a little likelihood and no error.",
       .seen_in = "transformers #37574"},
      {.id = "relative-bias-zero-in-decode",
       .family = "cache",
       .name = "a decode step counts its query's position, or all positions, as 0 in the relative bias",
       .teacher = "A decode step has one query, and it stands at position i, not 0. "
                  "Compute the bias for the full length and take its last row, "
                  "or pass the query's true position.",
       .unchanged = "The prompt, all shapes and all row sums are right. "
                    "The first step of an empty cache is right, for it is row 0.",
       .training = "Teacher forcing computes all rows and is right. "
                   "In generation T5's decoder gets the same bias for all keys, "
                   "which softmax ignores: it has lost its positions.",
       .seen_in = "transformers #19045"},
      // Efficient variants.
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
      // Gradients.
      {.id = "backward-no-softmax-sum",
       .family = "gradient",
       .name = "the gradient of softmax is weights ∘ d_weights, without subtracting the row's sum",
       .teacher = "The weights of a row share a denominator: one score up, all the others down. "
                  "Subtract the row's sum of weights ∘ d_weights before the product. "
                  "Each row of d_scaled must sum to 0.",
       .unchanged = "The forward pass is right, d_V and d_weights are right, and d_scaled is 0 where masked. "
                    "It hides in a row whose sum of weights ∘ d_weights is 0.",
       .training = "Strong keys of a row are pushed up or down together, whatever they hold. "
                   "The loss may still fall, slowly; central differences show the fault at once."},
      {.id = "backward-no-scale",
       .family = "gradient",
       .name = "d_scores is not divided by √d_k",
       .teacher = "scaled = scores / √d_k, so by the chain rule the gradient is divided by √d_k, too. "
                  "Each line of the forward pass needs its partner in the backward pass.",
       .unchanged = "The forward pass, d_V, d_weights and d_scaled are right. d_Q "
                    "and d_K have the right direction and are too long by √d_k. It hides where d_k = 1.",
       .training = "W_Q and W_K learn √d_k times faster than the rest. "
                   "Adam divides by the gradient's size and all but hides it; "
                   "plain gradient descent may diverge."},
      {.id = "backward-heads-not-summed",
       .family = "gradient",
       .name = "a gradient shared by heads is taken from one head only",
       .teacher = "What several heads read gets a gradient from each of them, and these add up: "
                  "X from all heads, a shared key head from its group. "
                  "Sum over the axis that was broadcast.",
       .unchanged = "The forward pass is right, and the gradients have the right shapes. "
                    "It hides with one head, and for keys and values where each query head has its own.",
       .training = "Part of a gradient often still points downhill, so the loss falls, only slower. "
                   "A shared key head learns to serve one of its query heads."},
      {.id = "backward-batch-not-summed",
       .family = "gradient",
       .name = "a weight's gradient is taken from one sample of the batch only",
       .teacher = "Every sample uses the weight, so its gradient is the sum over the batch. "
                  "One sample's was kept. Look for an index [0], or for = where += should stand.",
       .unchanged = "Shapes are right, and gradients that have a batch axis, as d_Q, are right. "
                    "It hides in a batch of one, which is how a gradient is mostly checked.",
       .training = "It is stochastic gradient descent with a batch of one: noisy, yet it learns. "
                   "The rest of the batch is computed and never learnt from."},
      {.id = "backward-not-transposed",
       .family = "gradient",
       .name = "a product goes back without the transpose, or with one too many",
       .teacher = "For C = A B it is d_A = d_C Bᵀ and d_B = Aᵀ d_C. So d_V = weightsᵀ d_output, d_K = "
                  "d_scoresᵀ Q, and d_Q = d_scores K without one. Write the shapes with names, query and "
                  "key, and only one way fits.",
       .unchanged = "With as many queries as keys all shapes are right. It hides where the weights are "
                    "symmetric, and a test with another number of keys refuses to run.",
       .training = "Each token gets the gradient of those that it looks at, not of those that look at it. "
                   "With causal masks the gradient runs into the future; the loss hardly falls."},
      {.id = "backward-wrong-operand",
       .family = "gradient",
       .name = "a product goes back with its own operand instead of the other one",
       .teacher = "In scores = Q Kᵀ the gradient of Q holds the keys, and that of K the queries. A "
                  "product passes each side's gradient through the other side.",
       .unchanged = "Q and K have the same width, so the shapes are right wherever there are as many "
                    "queries as keys. It hides where Q = K.",
       .training = "The step that a query makes does not depend on the keys that it is compared with. The "
                   "loss falls by luck at most."},
      {.id = "backward-softmax-as-sigmoid",
       .family = "gradient",
       .name = "the gradient of softmax is weights ∘ (1 − weights) ∘ d_weights, as if each weight stood "
               "by itself",
       .teacher = "That is the diagonal of softmax's Jacobian alone, or the derivative of a sigmoid. A "
                  "score moves all weights of its row: subtract the row's sum of weights ∘ d_weights.",
       .unchanged = "It is right for the diagonal, so a check that moves one score and looks at its own "
                    "weight passes. It hides where the other weights of a row have no gradient.",
       .training = "The sign is often right, so the loss falls. The scores of a row drift together, which "
                   "a correct gradient never does."},
      {.id = "backward-softmax-axis",
       .family = "gradient",
       .name = "the sum in the gradient of softmax runs along another axis than softmax",
       .teacher = "Softmax made shares of each row, so the sum of weights ∘ d_weights is one number for "
                  "each row: the last axis, with keepdims. Without keepdims NumPy subtracts it from the "
                  "columns.",
       .unchanged = "With as many queries as keys nothing fails, and d_scaled is 0 where masked. It hides "
                    "where d_weights is the same for all queries. Rows of d_scaled do not sum to 0.",
       .training = "A wrong number is subtracted from each gradient, of the right size. The loss falls "
                   "slowly and stalls early."},
      {.id = "backward-softmax-plain-sum",
       .family = "gradient",
       .name = "the sum in the gradient of softmax is not weighted: Σ d_weights, or their mean",
       .teacher = "It is the average of d_weights under the weights, Σ weights ∘ d_weights. A plain sum "
                  "or mean also counts the keys that nobody looks at, hidden ones too.",
       .unchanged = "Shapes are right. It hides where a row's weights are uniform (the mean) or where "
                    "d_weights sums to 0.",
       .training = "Early in training the weights are nearly uniform and the mean is nearly right, so it "
                   "learns. As they sharpen, the gradient goes wrong."},
      {.id = "backward-softmax-of-scores",
       .family = "gradient",
       .name = "the gradient of softmax is computed from the scores instead of the weights",
       .teacher = "Softmax's derivative is a function of its result: w ∘ (d − Σ w ∘ d). The forward pass "
                  "must keep the weights for it. Look at the variable that was cached.",
       .unchanged = "Shapes are right, and so are d_V and d_weights.",
       .training = "The gradient grows with the scores and has their signs. Training diverges soon, "
                   "unless the scores are tiny."},
      {.id = "backward-mask-missing",
       .family = "gradient",
       .name = "the backward pass computes the weights again without the mask",
       .teacher = "A hidden key has weight 0, and so it has no gradient. Who computes the weights again "
                  "in the backward pass, as flash attention does, must mask the scores there, too.",
       .unchanged = "The forward pass is right, and so is d_scaled where a key may be seen. It hides "
                    "without a mask.",
       .training = "Gradients of hidden pairs change W_Q and W_K, often by a lot: a hidden score may be "
                   "the largest of its row. The loss is right and falls badly."},
      {.id = "backward-scale-twice",
       .family = "gradient",
       .name = "the gradient is divided by √d_k twice",
       .teacher = "The scale stands once in the forward pass, so it stands once in the backward pass: at "
                  "d_scores, or at d_Q and d_K.",
       .unchanged = "d_V and d_weights are right. d_Q and d_K have the right direction and are too short "
                    "by √d_k. It hides where d_k = 1.",
       .training = "W_Q and W_K learn √d_k times slower than the rest. Adam makes up for it, so nobody "
                   "notices."},
      {.id = "backward-scale-multiplied",
       .family = "gradient",
       .name = "d_scores is multiplied by √d_k instead of divided",
       .teacher = "Going back through a division by √d_k is a division by √d_k again. An inverse has no "
                  "place in the chain rule.",
       .unchanged = "The forward pass, d_V and d_scaled are right, and d_Q and d_K have the right "
                    "direction. It hides where d_k = 1.",
       .training = "W_Q and W_K learn d_k times too fast. With Adam it trains; plain gradient descent "
                   "diverges."},
      {.id = "backward-averaged",
       .family = "gradient",
       .name = "a gradient is averaged where it must be summed: over tokens, samples or heads",
       .teacher = "A parameter that serves several rows gets the sum of their gradients. A mean belongs "
                  "into the loss, if anywhere: then d_output has the factor already.",
       .unchanged = "All directions are right. It hides in a batch of one (over samples), with one token "
                    "(over tokens), and with a head of its own for each query.",
       .training = "It is a smaller learning rate for those parameters alone, and it changes with the "
                   "length and the batch. Adam hides it."},
      {.id = "backward-path-forgotten",
       .family = "gradient",
       .name = "a tensor that went several ways gets the gradient of some of them only",
       .teacher = "X went into Q, into K and into V. What comes back on each way adds up: d_X = d_Q W_Qᵀ "
                  "+ d_K W_Kᵀ + d_V W_Vᵀ. Look for = where += should stand.",
       .unchanged = "All gradients of this layer's weights are right: only what goes on to the layer "
                    "below is wrong. In a model of one layer with fixed vectors nothing shows.",
       .training = "The way through V is the largest in the beginning, so lower layers learn all the "
                   "same, only worse."},
      {.id = "backward-heads-reshape-only",
       .family = "gradient",
       .name = "gradients of heads are merged or split by a reshape without the transpose",
       .teacher = "Splitting is a reshape and a transpose, so its way back is the transpose and then the "
                  "reshape. A reshape alone gives the right shape and mixes tokens with heads.",
       .unchanged = "The shapes and the sum of all numbers are right. It hides with one head or one "
                    "token.",
       .training = "W_Q and W_K get the gradients of other tokens. The loss falls a little through W_O "
                   "and the values."},
      {.id = "backward-residual-missing",
       .family = "gradient",
       .name = "the gradient of the residual path is left out",
       .teacher = "x + f(x) hands its gradient on twice: as it is to x, and through f. The two add up.",
       .unchanged = "The gradients of the sublayer's own weights are right; those below are wrong. It "
                    "hides in the first layer, where nothing is below.",
       .training = "What residual connections are for is lost: in a deep stack the gradient fades from "
                   "layer to layer. A stack of two trains."},
      {.id = "backward-sublayer-missing",
       .family = "gradient",
       .name = "only the residual path passes its gradient on, not the sublayer",
       .teacher = "What went into the sublayer has a gradient through it. Look for a detach, a no_grad, "
                  "or = where += should stand.",
       .unchanged = "The gradients of the sublayer's own weights are right, and those below have about "
                    "the right size.",
       .training = "Lower layers learn as if the sublayer were not there. It trains surprisingly well."},
      {.id = "backward-norm-as-constant",
       .family = "gradient",
       .name = "layer norm's mean or spread is taken for a constant on the way back",
       .teacher = "Both depend on x, so each has a term: (d − mean(d) − s ∘ mean(d ∘ s)) / σ. Each row of "
                  "d_x must sum to 0, and so must d_x ∘ s.",
       .unchanged = "d_gain and d_bias are right, and d_x has about the right direction. It hides in wide "
                    "rows whose gradient is 0 on the average.",
       .training = "The terms are one part in d each, so with a large d_model the loss falls nearly as "
                   "fast."},
      {.id = "backward-norm-no-gain",
       .family = "gradient",
       .name = "d_y is not multiplied by the gain on its way back through layer norm",
       .teacher = "y = s ∘ gain + bias, so d_s = d_y ∘ gain. It comes before the two means are taken.",
       .unchanged = "It hides wherever the gain is 1, as it is before training: a check at initialisation "
                    "passes.",
       .training = "At first nothing is wrong. The more the gains move away from 1, the worse the "
                   "gradients below get."},
      {.id = "backward-gain-of-input",
       .family = "gradient",
       .name = "the gradient of the gain takes x instead of the standardised x",
       .teacher = "The gain multiplies s = (x − mean) / σ, so its gradient is Σ d_y ∘ s. Keep s from the "
                  "forward pass.",
       .unchanged = "d_x and d_bias are right, and so is the shape. It hides where the rows of x have "
                    "mean 0 and variance 1.",
       .training = "Gains learn from the mean and size of x, which layer norm was to remove. A small "
                   "learning rate hides it."},
      {.id = "backward-activation-missing",
       .family = "gradient",
       .name = "the gradient goes back through the activation as if it were not there",
       .teacher = "ReLU passes a gradient where it let its input through, and nothing elsewhere. Multiply "
                  "by the slope before the product with W_1ᵀ.",
       .unchanged = "d_W_2 and d_b_2 are right. It hides where all hidden numbers are positive.",
       .training = "W_1 gets gradients of numbers that had no part in the loss. About half of them are "
                   "noise, and it trains slowly."},
      {.id = "backward-activation-other",
       .family = "gradient",
       .name = "GELU goes back by ReLU's slope",
       .teacher = "The slope of GELU is Φ(z) + z φ(z), which is neither 0 nor 1. The backward pass must "
                  "be that of the activation that was used.",
       .unchanged = "Far from 0 both slopes are the same, so it differs in part of the numbers only.",
       .training = "The sign is mostly right, and it trains; the loss ends a little higher."},
      // The batch.
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
      // Mistakes that may be conventions: right where all of a model keeps to them.
      {.id = "mask-causal-corner",
       .family = "mask",
       .name = "the causal mask is aligned at the top left corner instead of the bottom right",
       .teacher = "The last query belongs to the last key: query i stands at position i + n_k − n_q. "
                  "With a cache the triangle must end at the bottom right. "
                  "Look at the offset of tril or triu.",
       .unchanged = "It hides where there are as many queries as keys. "
                    "With fewer, rows still sum to 1 and nothing comes from the future; "
                    "a decode step with one query sees key 0 alone.",
       .training = "Training has as many queries as keys and shows nothing. "
                   "Decoding with a cache fails: each new token sees only the start of the text.",
       .seen_in = "flash-attention #517, mlx #2835, pytorch #103082",
       .conversion = "Top left hides j > i, bottom right hides j > i + n_k − n_q: "
                     "add n_k − n_q to the query's index. "
                     "PyTorch's is_causal is top left, FlashAttention since 2.1 bottom right."},
      {.id = "window-off-by-one",
       .family = "mask",
       .name = "the window is one key too wide or too narrow",
       .teacher = "Say what a window of N counts. Here it is N keys before the query, and its own besides; "
                  "others count its own among the N. Look at < against <=, on both edges of the band.",
       .unchanged = "Shapes are right, rows sum to 1, and nothing comes from the future. "
                    "It hides in each row that has fewer keys than the window, and so in any short sentence.",
       .training = "One key in a window of thousands is hardly missed, so a model trains as well. "
                   "A checkpoint differs as soon as the text is longer than its window.",
       .seen_in = "transformers #39408",
       .conversion = "Here a causal window of N is N + 1 keys. "
                     "Where yours counts the query's own key among them, "
                     "as sliding_window in Hugging Face, give a window one smaller here."},
      {.id = "pe-halves",
       .family = "positions",
       .name = "all sines come first and then all cosines, instead of in turns",
       .teacher = "The paper puts sines into even columns and cosines into odd ones. "
                  "Yours are the same numbers in another order, "
                  "which is as good as long as one model keeps to it.",
       .unchanged = "Each row holds the same numbers, "
                    "so norms and dot products of two encodings are the same. It hides where d = 2.",
       .training = "Features have no order before training, so both train alike, "
                   "and tensor2tensor itself has the halves. "
                   "Only weights trained with the other layout go wrong.",
       .seen_in = "tensor2tensor PR #177",
       .conversion = "Take your columns in the order 0, d/2, 1, d/2 + 1, … to get ours. "
                     "Our even columns and then our odd ones give yours."},
      {.id = "rope-pairing",
       .family = "positions",
       .name = "RoPE pairs feature i with feature i + d_k/2 instead of with its neighbour",
       .teacher = "Adjacent pairs (2i, 2i + 1) and halves (i, i + d_k/2) are both in use. "
                  "Q and K must use the same one, "
                  "and it must be the one that the weights were trained with.",
       .unchanged = "Norms are kept, position 0 is the same, and scores depend on distances only. "
                    "It hides where d_k = 2, and it grows with the position.",
       .training = "From scratch both train alike. "
                   "A checkpoint in the wrong pairing reads a few tokens well and then falls apart, "
                   "for the error grows with the distance.",
       .seen_in = "shainet PR #111",
       .conversion = "In each head of W_Q and W_K put the even columns first and then the odd ones: "
                     "from adjacent pairs (GPT-J, Meta's Llama) to halves (GPT-NeoX, Hugging Face)."},
      {.id = "pe-last-frequency",
       .family = "positions",
       .name = "the exponents run from 0 to 1, so that the last pair turns with frequency 1/10000",
       .teacher = "The paper's exponent is 2i/d, which stays below 1. "
                  "tensor2tensor and fairseq divide by one pair less, 2i/(d − 2), to end at 1. "
                  "Both are in use.",
       .unchanged = "All values lie between −1 and 1, row 0 is right, and so is the first pair. "
                    "It hides where d = 2.",
       .training = "From scratch both train alike. "
                   "Weights that were trained with the one read positions of the other a little wrong.",
       .conversion = "Ours are 10000^(−2i/d), yours 10000^(−2i/(d − 2)): the encoding has to be computed "
                     "anew from one of the two."},
      {.id = "alibi-slopes-between-powers",
       .family = "positions",
       .name = "ALiBi's slopes are those of the powers of two next to the number of heads",
       .teacher = "Where the number of heads is no power of two, the authors' program takes the slopes of "
                  "the power below, and then every other slope of the power above. "
                  "The formula 2^(−8i/h) takes any number.",
       .unchanged = "With 1, 2, 4, 8, 16 … heads nothing differs.",
       .training = "Slopes are fixed, and models train as well with either. "
                   "A checkpoint needs its own: BLOOM and MPT have those of the authors' program.",
       .conversion = "Take slopes = 2^(−8i/h) for i = 1, …, h, or compare from scores on."},
      {.id = "gate-order",
       .family = "recurrence",
       .name = "the LSTM's four gates are read in another order than they are stored",
       .teacher = "The weights are four blocks of rows, and their order is a convention. "
                  "Read them in the order they were stored in. "
                  "Only the candidate, g, goes through tanh; the gates go through sigmoid.",
       .unchanged = "Shapes are right, every weight is used, and all of h lies between −1 and 1. "
                    "Equal blocks, such as all zeros, hide it.",
       .training = "From scratch any order trains, though a forget bias of 1 may land on another gate. "
                   "Loaded weights run without an error and remember nothing.",
       .seen_in = "CrispASR #106",
       .conversion = "Bring the blocks of W_ih, W_hh, b_ih and b_hh to i, f, g, o, as in PyTorch and Keras. "
                     "ONNX stores i, o, f, g, and TensorFlow's BasicLSTMCell i, g, f, o."},
      // Conventions.
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
       .name = "the scale is folded into W_Q, or split as 1/d_k^(1/4) on both Q and K",
       .teacher = "(Q / √d_k) Kᵀ is the same product. A scale within W_Q saves a pass over the scores, "
                  "and a fourth root on each side keeps half precision from overflowing.",
       .unchanged = "scaled, weights and output are the same but for rounding. "
                    "Q, K and scores differ by constant factors.",
       .training = "It is the same function. "
                   "Where the folded W_Q itself is trained, its gradient is larger by √d_k "
                   "and its values smaller, which asks for another learning rate.",
       .conversion =
           "Multiply your Q and your scores by √d_k; "
           "after a split, Q and K by d_k^(1/4) each and scores by √d_k. Or compare from scaled on."},
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
                     "or switch scale_attn_by_inverse_layer_idx off."},
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
       .conversion = "Move LN, or check against --norm post."},
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
                     "[state; context] for Bahdanau's output, [decoder; encoder] for the scores."},
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
       .conversion = "approximate=\"none\" in PyTorch, approximate=False in JAX and Keras."},
      {.id = "scores-shifted",
       .family = "scores",
       .name = "a constant is added to all scores of a row",
       .teacher = "Softmax does not change when a whole row moves by one number, so this is as right. "
                  "ALiBi written as slope·j instead of −slope·(i − j) is the usual reason.",
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
  return table;
}

const CataloguedMistake* find_mistake(std::string_view id) {
  const auto name = id.substr(0, id.find(':'));
  const auto& all = catalogue();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const CataloguedMistake& one) { return one.id == name; });
  return found == all.end() ? nullptr : &*found;
}

bool is_convention(std::string_view id) {
  const auto* mistake = find_mistake(id);
  return mistake != nullptr && mistake->is_convention();
}

std::string id_without_variant(const std::string& id) {
  return id.substr(0, id.find(':'));
}

std::vector<std::string> ids_without_variants(const std::vector<std::string>& ids) {
  std::vector<std::string> short_ids;
  for (const auto& id : ids)
    if (const auto name = id_without_variant(id);
        std::find(short_ids.begin(), short_ids.end(), name) == short_ids.end())
      short_ids.push_back(name);
  return short_ids;
}

}  // namespace attn
