#include "lessons/seq2seq/encoder.hpp"

#include "attn/ops/steps.hpp"

namespace lessons {

std::string encoder_states_id(const Workbench& bench) {
  return bench.options.bidirectional ? "encoder/states" : "encoder/h";
}

LstmState Encoder::initial() const {
  return {attn::stack_steps({s_0}), attn::stack_steps({c_0})};
}

Encoder encode(Workbench& mute, const Tensor<3>& X, const std::vector<std::size_t>& lengths,
               const EncoderWeights& weights) {
  Encoder encoder;
  encoder.forward = run_lstm(mute, X, lengths, weights.forward, Direction::forward);
  encoder.states = encoder.forward.h;
  encoder.s_0 = encoder.forward.last_h;
  encoder.c_0 = encoder.forward.last_c;
  if (!weights.reverse) return encoder;
  encoder.reverse = run_lstm(mute, X, lengths, *weights.reverse, Direction::reverse);
  encoder.states = attn::join(encoder.states, encoder.reverse->h);
  encoder.s_0 = attn::join(encoder.s_0, encoder.reverse->last_h);
  encoder.c_0 = attn::join(encoder.c_0, encoder.reverse->last_c);
  return encoder;
}

}  // namespace lessons
