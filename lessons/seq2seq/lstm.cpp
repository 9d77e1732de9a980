#include "lessons/seq2seq/lstm.hpp"

#include <algorithm>
#include <utility>

#include "attn/ops/arithmetic.hpp"
#include "attn/ops/mask.hpp"
#include "attn/ops/steps.hpp"

namespace lessons {

using attn::Gate;

namespace {

/// [batch×1×1], true where sample b has a word at t.
Mask<3> is_word(const std::vector<std::size_t>& lengths, std::size_t t) {
  Mask<3> mask({lengths.size(), 1, 1});
  std::transform(lengths.begin(), lengths.end(), mask.begin(),
                 [t](std::size_t length) { return t < length; });
  return mask;
}

/// The row of each sample after which there is none to read.
Tensor<2> last_row(const Tensor<3>& x, const std::vector<std::size_t>& lengths, Direction direction) {
  auto last = Tensor<2>::from_shape({x.shape(0), x.shape(2)});
  for (std::size_t b = 0; b < lengths.size(); ++b) {
    const std::size_t t = direction == Direction::forward ? lengths[b] - 1 : 0;
    std::copy_n(&x(b, t, 0), x.shape(2), &last(b, 0));
  }
  return last;
}

}  // namespace

LstmState lstm_cell(Workbench& mute, const Tensor<3>& x, const LstmState& before,
                    const attn::LstmWeights& weights, const std::optional<Mask<3>>& is_real) {
  auto& trace = mute.trace;
  const auto sums = [&](Gate gate) { return attn::gate_sums(weights, gate, x, before.h); };
  const auto real = [&](const char* id, const Tensor<3>& gate) {
    return trace.step({.id = id}, is_real ? attn::apply_mask(gate, *is_real, 0.0) : gate);
  };
  const auto i = real("i", attn::sigmoid(sums(Gate::input)));
  const auto f = real("f", attn::sigmoid(sums(Gate::forget)));
  const auto g = real("g", attn::tanh(sums(Gate::candidate)));
  const auto o = real("o", attn::sigmoid(sums(Gate::output)));
  auto c = trace.step({.id = "c"}, attn::add(attn::multiply(f, before.c), attn::multiply(i, g)));
  auto h = trace.step({.id = "h"}, attn::multiply(o, attn::tanh(c)));
  return {std::move(h), std::move(c)};
}

Lstm run_lstm(Workbench& mute, const Tensor<3>& X, const std::vector<std::size_t>& lengths,
              const attn::LstmWeights& weights, Direction direction) {
  const std::size_t n = X.shape(1);
  const Tensor<3> zeros = xt::zeros<double>({X.shape(0), std::size_t{1}, weights.hidden()});
  LstmState state = {zeros, zeros};
  std::vector<Tensor<2>> h(n), c(n);
  for (std::size_t step = 0; step < n; ++step) {
    const auto t = direction == Direction::forward ? step : n - 1 - step;
    state = lstm_cell(mute, attn::steps_of(X, t, t + 1), state, weights, is_word(lengths, t));
    h[t] = attn::step_of(state.h, 0);
    c[t] = attn::step_of(state.c, 0);
  }
  Lstm run = {attn::stack_steps(h), attn::stack_steps(c), {}, {}};
  run.last_h = last_row(run.h, lengths, direction);
  run.last_c = last_row(run.c, lengths, direction);
  return run;
}

}  // namespace lessons
