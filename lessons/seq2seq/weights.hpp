#pragma once

#include <string>

#include "attn/layers/recurrent_decoder.hpp"
#include "attn/layers/recurrent_encoder.hpp"
#include "lessons/workbench/workbench.hpp"

namespace lessons {

/// All weights of the lesson seq2seq.
template <class T>
struct Seq2SeqWeights {
  attn::RecurrentEncoderWeights<T> encoder;
  attn::RecurrentDecoderWeights<T> decoder;
};

/// Whether --attention is `name`: bahdanau, luong-dot, luong-general, luong-concat or multihead.
template <class T>
bool attends_as(const Workbench<T>& bench, const char* name) {
  return bench.options.attention == name;
}

/// Numbers in a state of the decoder, and in one of the states that it attends to: `hidden`, or twice as many
/// with --bidirectional.
template <class T>
std::size_t state_width(const Workbench<T>& bench) {
  return bench.options.hidden.value() * (bench.options.bidirectional ? 2 : 1);
}

/// The inputs `encoder/…`, `encoder/reverse/…` with --bidirectional, `decoder/…`, `attention/…` and
/// `output/…`, drawn in that order.
template <class T>
Seq2SeqWeights<T> draw_seq2seq_weights(Workbench<T>& bench, std::size_t vocabulary);

}  // namespace lessons
