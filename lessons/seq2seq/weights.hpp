#pragma once

#include <string>

#include "attn/layers/recurrent_decoder.hpp"
#include "attn/layers/recurrent_encoder.hpp"
#include "lessons/workbench/workbench.hpp"

namespace lessons {

/// All weights of the lesson seq2seq.
struct Seq2SeqWeights {
  attn::RecurrentEncoderWeights encoder;
  attn::RecurrentDecoderWeights decoder;
};

/// Whether --attention is `name`: bahdanau, luong-dot, luong-general, luong-concat or multihead.
inline bool attends_as(const Workbench& bench, const char* name) {
  return bench.options.attention == name;
}

/// Numbers in a state of the decoder, and in one of the states that it attends to: `hidden`, or twice as many
/// with --bidirectional.
inline std::size_t state_width(const Workbench& bench) {
  return bench.options.hidden.value() * (bench.options.bidirectional ? 2 : 1);
}

/// The inputs `encoder/…`, `encoder/reverse/…` with --bidirectional, `decoder/…`, `attention/…` and
/// `output/…`, drawn in that order.
Seq2SeqWeights draw_seq2seq_weights(Workbench& bench, std::size_t vocabulary);

}  // namespace lessons
