#include "trace/diagnosis/catalogue/parts.hpp"

namespace attn {

std::vector<CataloguedMistake> mistakes_of_positions() {
  return {
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
       .name = "RoPE takes the number of the head, or of the sample, for the position",
       .teacher = "The angle changes from head to head, or from sample to sample, "
                  "and not from token to token. See whether Q is [batch, token, head, d_k], "
                  "[batch, head, token, d_k] or [token, batch, head, d_k] where RoPE reads its positions.",
       .unchanged = "Shapes are right and norms are kept. The first head, or sample, is not turned at all. "
                    "Where queries meet keys of the same number, scores are those without any positions.",
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
  };
}

}  // namespace attn
