#include "attn/layers/recurrent_encoder.hpp"

#include "attn/ops/steps.hpp"

namespace attn {

template <class T>
RecurrentEncoder<T> recurrent_encoder(const Tensor<T, 3>& X, const RecurrentEncoderWeights<T>& weights,
                                      const std::vector<std::size_t>& lengths) {
  const auto initial = zero_state<T>(X.shape(0), weights.forward.hidden());
  RecurrentEncoder<T> encoder;
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

template RecurrentEncoder<float> recurrent_encoder(const Tensor<float, 3>&,
                                                   const RecurrentEncoderWeights<float>&,
                                                   const std::vector<std::size_t>&);
template RecurrentEncoder<double> recurrent_encoder(const Tensor<double, 3>&,
                                                    const RecurrentEncoderWeights<double>&,
                                                    const std::vector<std::size_t>&);

}  // namespace attn
