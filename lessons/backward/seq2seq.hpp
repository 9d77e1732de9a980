#pragma once

#include <string>
#include <vector>

#include "lessons/backward/gradients.hpp"
#include "lessons/seq2seq/claims.hpp"

namespace lessons {

/// Back through a decoder that attends as Bahdanau's and through its encoder, word by word from the last to
/// the first (backpropagation through time, Werbos 1990), from the cross-entropy of the words. The gradients
/// of the gates' sums, which have no id of their own, are `decoder/d_gates` and `encoder/d_gates`, those of s
/// W_q and h W_k `decoder/d_projected` and `encoder/d_keys`; what comes back to the encoder's states through
/// attention is `encoder/d_states`.
void seq2seq_backward(Workbench& bench, Gradients& gradients, const Seq2SeqRun& run,
                      const WordsToWrite& words);

}  // namespace lessons
