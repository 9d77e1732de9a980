#pragma once

#include <optional>
#include <string>

#include "attn/ops/lstm.hpp"
#include "lessons/workbench/workbench.hpp"

namespace lessons {

/// What goes from one step of an LSTM to the next, [batch×n×hidden] each.
struct LstmState {
  Tensor<3> h;  ///< the state that others see
  Tensor<3> c;  ///< the memory
};

/// One step of a long short-term memory: x [batch×n×d_in] and the state before [batch×n×hidden] give the
/// state after, in the format of the workbench.
LstmState lstm_cell(Workbench& mute, const Tensor<3>& x, const LstmState& before,
                    const attn::LstmWeights& weights);

/// An LSTM that reads a sentence from the left and, with weights for it, another one that reads it from the
/// right (Schuster & Paliwal 1997).
struct EncoderWeights {
  attn::LstmWeights forward;
  std::optional<attn::LstmWeights> reverse;
};

/// What the encoder leaves to the decoder. Of two LSTMs the states stand side by side.
struct Encoder {
  Tensor<3> states;  ///< [batch×source×width], row t belongs to word t in both directions
  LstmState last;    ///< after the last word that was read, [batch×1×width]: the decoder's first
};

/// X is [batch×source×d_model], sentences of one length.
Encoder encode(Workbench& mute, const Tensor<3>& X, const EncoderWeights& weights);

/// The id of the states that the decoder attends to.
std::string encoder_states_id(const Workbench& bench);

}  // namespace lessons
