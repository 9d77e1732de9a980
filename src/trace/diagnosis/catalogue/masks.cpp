#include "trace/diagnosis/catalogue/parts.hpp"

namespace attn {

std::vector<CataloguedMistake> mistakes_of_masks() {
  return {
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
  };
}

}  // namespace attn
