#pragma once

#include "attn/layers/recurrent_decoder.hpp"
#include "attn/layers/recurrent_encoder.hpp"
#include "lessons/workbench/workbench.hpp"

namespace lessons {

/// The gates and states of the encoder: `encoder/i` to `encoder/h`, with --bidirectional `encoder/reverse/i`
/// to `encoder/states` as well.
template <class T>
void show_encoder(Workbench<T>& bench, const attn::RecurrentEncoder<T>& encoder);

/// `decoder/s_0` and `decoder/c_0`.
template <class T>
void show_initial_state(Workbench<T>& bench, const attn::LstmState<T>& initial);

/// From `decoder/i` to `decoder/probabilities`. Returns the probabilities.
template <class T>
Tensor<T, 3> show_decoder(Workbench<T>& bench, const attn::RecurrentDecoder<T>& decoder);

}  // namespace lessons
