#include "fast/train/recurrent.hpp"

#include <algorithm>

#include "fast/gemm.hpp"
#include "fast/train/loops.hpp"

namespace attn::train {

namespace {

/// What one LSTM step keeps for its backward.
template <class T>
struct LstmStep {
  LstmState<T> before, after;
  Variable<T> gates;  ///< [batch × 4·hidden]; their gradient becomes that of the sums
  T* tanh_c;
};

template <class T>
LstmState<T> rows_of(const LstmState<T>& state, std::size_t first, std::size_t count) {
  return {state.h.slice(first, count), state.c.slice(first, count)};
}

/// Rows of samples that have ended keep their state.
template <class T>
void lstm_step_forward(const LstmStep<T>& step, const Variable<T>& W_hh, const Lengths& lengths,
                       std::size_t position) {
  const std::size_t batch = step.gates.rows, hidden = W_hh.columns;
  fast::add_product(fast::Matrix<T>{step.before.h.value, batch, hidden},
                    fast::transposed(fast::Matrix<T>{W_hh.value, 4 * hidden, hidden}), step.gates.value);
  for (std::size_t sample = 0; sample < batch; ++sample) {
    const std::size_t at = sample * hidden;
    if (position < lengths[sample]) {
      loops<T>().lstm_forward(hidden, step.gates.value + 4 * at, step.before.c.value + at,
                              step.after.c.value + at, step.tanh_c + at, step.after.h.value + at);
    } else {
      std::copy_n(step.before.h.value + at, hidden, step.after.h.value + at);
      std::copy_n(step.before.c.value + at, hidden, step.after.c.value + at);
    }
  }
}

template <class T>
void lstm_step_backward(const LstmStep<T>& step, const Variable<T>& W_hh, const Lengths& lengths,
                        std::size_t position) {
  const std::size_t batch = step.gates.rows, hidden = W_hh.columns;
  const auto add_to = [&](T* to, const T* from) {
    if (to) loops<T>().add_scaled(hidden, T{1}, from, to);
  };
  for (std::size_t sample = 0; sample < batch; ++sample) {
    const std::size_t at = sample * hidden;
    T* d_c_before = step.before.c.gradient ? step.before.c.gradient + at : nullptr;
    T* d_h_before = step.before.h.gradient ? step.before.h.gradient + at : nullptr;
    if (position < lengths[sample]) {
      loops<T>().lstm_backward(hidden, step.gates.value + 4 * at, step.before.c.value + at, step.tanh_c + at,
                               step.after.h.gradient + at, step.after.c.gradient + at,
                               step.gates.gradient + 4 * at);
    } else {
      std::fill_n(step.gates.gradient + 4 * at, 4 * hidden, T{0});
      add_to(d_h_before, step.after.h.gradient + at);
    }
    add_to(d_c_before, step.after.c.gradient + at);
  }
  if (step.before.h.gradient)
    fast::add_product(fast::Matrix<T>{step.gates.gradient, batch, 4 * hidden},
                      fast::Matrix<T>{W_hh.value, 4 * hidden, hidden}, step.before.h.gradient);
}

}  // namespace

template <class T>
LstmState<T> lstm(Tape<T>& tape, const Variable<T>& inputs, const LstmState<T>& before,
                  const Variable<T>& W_hh, const Lengths& lengths, Direction direction) {
  const std::size_t batch = lengths.size(), positions = inputs.rows / batch, hidden = W_hh.columns;
  const LstmState<T> states = {tape.variable(inputs.rows, hidden), tape.variable(inputs.rows, hidden)};
  const Variable<T> gates = tape.variable(inputs.rows, 4 * hidden);
  const Variable<T> h_before = tape.constant(inputs.rows, hidden);  // of each step, together for one product
  std::copy_n(inputs.value, inputs.size(), gates.value);
  std::vector<LstmStep<T>> steps;
  std::vector<std::size_t> order(positions);
  for (std::size_t i = 0; i < positions; ++i)
    order[i] = direction == Direction::forwards ? i : positions - 1 - i;
  LstmState<T> last = before;
  for (const std::size_t position : order) {
    const std::size_t first = position * batch;
    const LstmStep<T> step = {last, rows_of(states, first, batch), gates.slice(first, batch),
                              tape.scratch(batch * hidden)};
    std::copy_n(last.h.value, batch * hidden, h_before.slice(first, batch).value);
    lstm_step_forward(step, W_hh, lengths, position);
    steps.push_back(step);
    last = step.after;
  }
  tape.on_backward([=] {
    for (std::size_t i = positions; i-- > 0;) lstm_step_backward(steps[i], W_hh, lengths, order[i]);
    loops<T>().add_scaled(gates.size(), T{1}, gates.gradient, inputs.gradient);
    fast::add_product(fast::transposed(fast::Matrix<T>{gates.gradient, gates.rows, gates.columns}),
                      fast::Matrix<T>{h_before.value, gates.rows, hidden}, W_hh.gradient);
  });
  return states;
}

template <class T>
Variable<T> additive_scores(Tape<T>& tape, const Variable<T>& query, const Variable<T>& keys,
                            const Variable<T>& v, const Lengths& lengths) {
  const std::size_t batch = query.rows, width = query.columns, positions = keys.rows / batch;
  const Variable<T> scores = tape.variable(batch, positions);
  T* hidden = tape.scratch(keys.size());
  for (std::size_t sample = 0; sample < batch; ++sample)
    for (std::size_t position = 0; position < lengths[sample]; ++position) {
      const std::size_t row = (position * batch + sample) * width;
      scores.value[sample * positions + position] =
          loops<T>().tanh_dot(width, query.value + sample * width, keys.value + row, v.value, hidden + row);
    }
  tape.on_backward([=] {
    for (std::size_t sample = 0; sample < batch; ++sample)
      for (std::size_t position = 0; position < lengths[sample]; ++position) {
        const std::size_t row = (position * batch + sample) * width;
        loops<T>().tanh_dot_backward(width, scores.gradient[sample * positions + position], hidden + row,
                                     v.value, query.gradient + sample * width, keys.gradient + row,
                                     v.gradient);
      }
  });
  return scores;
}

template <class T>
Variable<T> dot_scores(Tape<T>& tape, const Variable<T>& query, const Variable<T>& keys,
                       const Lengths& lengths) {
  const std::size_t batch = query.rows, width = query.columns, positions = keys.rows / batch;
  const Variable<T> scores = tape.variable(batch, positions);
  for (std::size_t sample = 0; sample < batch; ++sample)
    for (std::size_t position = 0; position < lengths[sample]; ++position)
      scores.value[sample * positions + position] = loops<T>().dot(
          width, query.value + sample * width, keys.value + (position * batch + sample) * width);
  tape.on_backward([=] {
    for (std::size_t sample = 0; sample < batch; ++sample)
      for (std::size_t position = 0; position < lengths[sample]; ++position) {
        const std::size_t asks = sample * width, key = (position * batch + sample) * width;
        const T d = scores.gradient[sample * positions + position];
        loops<T>().add_scaled(width, d, keys.value + key, query.gradient + asks);
        loops<T>().add_scaled(width, d, query.value + asks, keys.gradient + key);
      }
  });
  return scores;
}

template <class T>
Variable<T> softmax(Tape<T>& tape, const Variable<T>& scores, const Lengths& lengths) {
  const std::size_t positions = scores.columns;
  const Variable<T> weights = tape.variable(scores.rows, positions);
  std::fill_n(weights.value, weights.size(), T{0});
  for (std::size_t row = 0; row < scores.rows; ++row) {
    const T* from = scores.value + row * positions;
    T* to = weights.value + row * positions;
    const T total =
        loops<T>().exp_shifted(lengths[row], from, *std::max_element(from, from + lengths[row]), to);
    for (std::size_t i = 0; i < lengths[row]; ++i) to[i] /= total;
  }
  tape.on_backward([=] {
    for (std::size_t row = 0; row < scores.rows; ++row) {
      const T *w = weights.value + row * positions, *d_w = weights.gradient + row * positions;
      const T mean = loops<T>().dot(lengths[row], w, d_w);
      for (std::size_t i = 0; i < lengths[row]; ++i)
        scores.gradient[row * positions + i] += w[i] * (d_w[i] - mean);
    }
  });
  return weights;
}

template <class T>
Variable<T> weighted_sum(Tape<T>& tape, const Variable<T>& weights, const Variable<T>& states,
                         const Lengths& lengths) {
  const std::size_t batch = weights.rows, positions = weights.columns, width = states.columns;
  const Variable<T> context = tape.variable(batch, width);
  std::fill_n(context.value, context.size(), T{0});
  for (std::size_t sample = 0; sample < batch; ++sample)
    for (std::size_t position = 0; position < lengths[sample]; ++position)
      loops<T>().add_scaled(width, weights.value[sample * positions + position],
                            states.value + (position * batch + sample) * width,
                            context.value + sample * width);
  tape.on_backward([=] {
    for (std::size_t sample = 0; sample < batch; ++sample)
      for (std::size_t position = 0; position < lengths[sample]; ++position) {
        const std::size_t weight = sample * positions + position, row = (position * batch + sample) * width;
        const T* d_context = context.gradient + sample * width;
        weights.gradient[weight] += loops<T>().dot(width, d_context, states.value + row);
        loops<T>().add_scaled(width, weights.value[weight], d_context, states.gradient + row);
      }
  });
  return context;
}

#define ATTN_TRAIN_RECURRENT(T)                                                                              \
  template LstmState<T> lstm(Tape<T>&, const Variable<T>&, const LstmState<T>&, const Variable<T>&,          \
                             const Lengths&, Direction);                                                     \
  template Variable<T> additive_scores(Tape<T>&, const Variable<T>&, const Variable<T>&, const Variable<T>&, \
                                       const Lengths&);                                                      \
  template Variable<T> dot_scores(Tape<T>&, const Variable<T>&, const Variable<T>&, const Lengths&);         \
  template Variable<T> softmax(Tape<T>&, const Variable<T>&, const Lengths&);                                \
  template Variable<T> weighted_sum(Tape<T>&, const Variable<T>&, const Variable<T>&, const Lengths&);

ATTN_TRAIN_RECURRENT(float)
ATTN_TRAIN_RECURRENT(double)
#undef ATTN_TRAIN_RECURRENT

}  // namespace attn::train
