#pragma once

#include "attn/layers/recurrent_decoder.hpp"
#include "attn/layers/recurrent_encoder.hpp"
#include "lessons/workbench/workbench.hpp"

namespace lessons {

/// The gates and states of the encoder: `encoder/i` to `encoder/h`, with --bidirectional `encoder/reverse/i`
/// to `encoder/states` as well.
void show_encoder(Workbench& bench, const attn::RecurrentEncoder& encoder);

/// `decoder/s_0` and `decoder/c_0`.
void show_initial_state(Workbench& bench, const attn::LstmState& initial);

/// From `decoder/i` to `decoder/probabilities`. Returns the probabilities.
Tensor<3> show_decoder(Workbench& bench, const attn::RecurrentDecoder& decoder);

}  // namespace lessons
