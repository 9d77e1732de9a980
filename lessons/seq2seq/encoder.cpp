#include "lessons/seq2seq/encoder.hpp"

#include <utility>
#include <vector>
#include <xtensor/xmath.hpp>

#include "attn/ops/slice.hpp"

namespace lessons {

using attn::Gate;

LstmState lstm_cell(Workbench& mute, const Tensor<3>& x, const LstmState& before,
                    const attn::LstmWeights& weights) {
  auto& trace = mute.trace;
  const auto sums = [&](Gate gate) { return attn::gate_sums(weights, gate, x, before.h); };
  const auto i = trace.step({.id = "i"}, attn::sigmoid(sums(Gate::input)));
  const auto f = trace.step({.id = "f"}, attn::sigmoid(sums(Gate::forget)));
  const auto g = trace.step({.id = "g"}, Tensor<3>(xt::tanh(sums(Gate::candidate))));
  const auto o = trace.step({.id = "o"}, attn::sigmoid(sums(Gate::output)));
  auto c = trace.step({.id = "c"}, Tensor<3>(f * before.c + i * g));
  auto h = trace.step({.id = "h"}, Tensor<3>(o * xt::tanh(c)));
  return {std::move(h), std::move(c)};
}

namespace {

Encoder read(Workbench& mute, const Tensor<3>& X, const attn::LstmWeights& weights, bool is_reversed) {
  const std::size_t n = X.shape(1);
  const Tensor<3> zeros = xt::zeros<double>({X.shape(0), std::size_t{1}, weights.hidden()});
  LstmState state = {zeros, zeros};
  std::vector<Tensor<2>> states(n);
  for (std::size_t step = 0; step < n; ++step) {
    const auto t = is_reversed ? n - 1 - step : step;
    state = lstm_cell(mute, attn::steps_of(X, t, t + 1), state, weights);
    states[t] = attn::step_of(state.h, 0);
  }
  return {attn::stack_steps(states), std::move(state)};
}

}  // namespace

Encoder encode(Workbench& mute, const Tensor<3>& X, const EncoderWeights& weights) {
  auto forward = read(mute, X, weights.forward, false);
  if (!weights.reverse) return forward;
  const auto reverse = read(mute, X, *weights.reverse, true);
  return {attn::join(forward.states, reverse.states),
          {attn::join(forward.last.h, reverse.last.h), attn::join(forward.last.c, reverse.last.c)}};
}

std::string encoder_states_id(const Workbench& bench) {
  return bench.options.bidirectional ? "encoder/states" : "encoder/h";
}

}  // namespace lessons
