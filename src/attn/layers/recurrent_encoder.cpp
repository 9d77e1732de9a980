#include "attn/layers/recurrent_encoder.hpp"

#include "attn/ops/steps.hpp"

namespace attn {

RecurrentEncoder recurrent_encoder(const Tensor<3>& X, const RecurrentEncoderWeights& weights,
                                      const std::vector<std::size_t>& lengths) {
  const auto initial = zero_state(X.shape(0), weights.forward.hidden());
  RecurrentEncoder encoder;
  encoder.forward = lstm(X, initial, weights.forward, lengths);
  encoder.states = encoder.forward.h;
  encoder.last = encoder.forward.last;
  if (weights.reverse) {
    encoder.reverse = lstm(X, initial, *weights.reverse, lengths, Direction::reverse);
    encoder.states = join(encoder.states, encoder.reverse->h);
    encoder.last = {join(encoder.last.h, encoder.reverse->last.h),
                    join(encoder.last.c, encoder.reverse->last.c)};
  }
  return encoder;
}


}  // namespace attn
