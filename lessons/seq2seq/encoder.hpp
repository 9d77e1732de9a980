#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lessons/seq2seq/lstm.hpp"

namespace lessons {

/// An LSTM that reads a sentence from the left and, with weights for it, another one that reads it from the
/// right (Schuster & Paliwal 1997).
struct EncoderWeights {
  attn::LstmWeights forward;
  std::optional<attn::LstmWeights> reverse;
};

/// What the encoder leaves to the decoder.
struct Encoder {
  Lstm forward;
  std::optional<Lstm> reverse;
  Tensor<3> states;  ///< forward.h, or [forward.h; reverse.h] [batch×source×width]
  Tensor<2> s_0;     ///< the decoder's first state [batch×width]
  Tensor<2> c_0;     ///< and memory

  /// Both as a step of one row: [batch×1×width].
  LstmState initial() const;
};

/// X is [batch×source×d_model], with `lengths[b]` real rows in sample b.
Encoder encode(Workbench& mute, const Tensor<3>& X, const std::vector<std::size_t>& lengths,
               const EncoderWeights& weights);

/// The id of the states that the decoder attends to.
std::string encoder_states_id(const Workbench& bench);

}  // namespace lessons
