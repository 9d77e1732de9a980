#include "trace/diagnosis/catalogue/parts.hpp"

namespace attn {

std::vector<CataloguedMistake> mistakes_of_recurrence() {
  return {
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
  };
}

}  // namespace attn
