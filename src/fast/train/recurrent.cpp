#include "fast/train/recurrent.hpp"

#include <algorithm>

#include "fast/train/loops.hpp"

namespace attn::train {

namespace {

/// What one LSTM step keeps for its backward.
template <class T>
struct LstmStep {
  std::size_t position;
  std::span<const std::size_t> lengths;
  LstmState<T> before, after;
  Variable<T> gates;  ///< [batch × 4·hidden]; the gradient is that of the sums
  T* tanh_c;

  bool has_ended(std::size_t sample) const { return position >= lengths[sample]; }
};

template <class T>
LstmState<T> rows_of(const LstmState<T>& state, std::size_t first, std::size_t count) {
  return {state.h.slice(first, count), state.c.slice(first, count)};
}

/// The rows of one sample: its positions, one after the other.
template <class T>
StridedRows<T> rows_of_sample(T* data, std::size_t sample, std::size_t batch, std::size_t width) {
  return {data + sample * width, batch * width};
}

/// Rows of samples that have ended keep their state.
template <class T>
void lstm_step_forward(const LstmStep<T>& step, const Variable<T>& W_hh_transposed) {
  const std::size_t batch = step.gates.rows, hidden = W_hh_transposed.rows;
  loops<T>().add_product(fast::Matrix<T>{step.before.h.value, batch, hidden},
                         fast::Matrix<T>{W_hh_transposed.value, hidden, 4 * hidden}, step.gates.value);
  for (std::size_t sample = 0; sample < batch; ++sample) {
    const std::size_t at = sample * hidden;
    if (!step.has_ended(sample)) {
      loops<T>().lstm_forward(hidden, step.gates.value + 4 * at, step.before.c.value + at,
                              step.after.c.value + at, step.tanh_c + at, step.after.h.value + at);
    } else {
      std::copy_n(step.before.h.value + at, hidden, step.after.h.value + at);
      std::copy_n(step.before.c.value + at, hidden, step.after.c.value + at);
    }
  }
}

template <class T>
void lstm_step_backward(const LstmStep<T>& step, const Variable<T>& W_hh) {
  const std::size_t batch = step.gates.rows, hidden = W_hh.columns;
  const auto add_to = [&](T* to, const T* from) {
    if (to) loops<T>().add_scaled(hidden, T{1}, from, to);
  };
  for (std::size_t sample = 0; sample < batch; ++sample) {
    const std::size_t at = sample * hidden;
    T* d_c_before = step.before.c.gradient ? step.before.c.gradient + at : nullptr;
    T* d_h_before = step.before.h.gradient ? step.before.h.gradient + at : nullptr;
    if (!step.has_ended(sample)) {
      loops<T>().lstm_backward(hidden, step.gates.value + 4 * at, step.before.c.value + at, step.tanh_c + at,
                               step.after.h.gradient + at, step.after.c.gradient + at, d_c_before,
                               step.gates.gradient + 4 * at);
    } else {
      std::fill_n(step.gates.gradient + 4 * at, 4 * hidden, T{0});
      add_to(d_h_before, step.after.h.gradient + at);
      add_to(d_c_before, step.after.c.gradient + at);
    }
  }
  if (step.before.h.gradient)
    loops<T>().add_product(fast::Matrix<T>{step.gates.gradient, batch, 4 * hidden},
                           fast::Matrix<T>{W_hh.value, 4 * hidden, hidden}, step.before.h.gradient);
}

}  // namespace

template <class T>
LstmState<T> lstm(Tape<T>& tape, const Variable<T>& x, const LstmState<T>& before,
                  const LstmWeights<T>& weights, const Lengths& lengths, Direction direction) {
  const Variable<T> W_hh = weights.W_hh;
  const std::size_t batch = lengths.size(), positions = x.rows / batch, hidden = W_hh.columns;
  const LstmState<T> states = {tape.variable(x.rows, hidden), tape.variable(x.rows, hidden)};
  const Variable<T> gates = linear_transposed(tape, x, weights.W_ih, weights.W_ih_transposed,
                                              {weights.b_ih, weights.b_hh}, Gradient::in_place);
  const Variable<T> h_before = tape.constant(x.rows, hidden);  // of each step, together for one product
  const auto kept_lengths = tape.keep(lengths);
  std::vector<LstmStep<T>> steps;
  LstmState<T> last = before;
  for (std::size_t i = 0; i < positions; ++i) {
    const std::size_t position = direction == Direction::forwards ? i : positions - 1 - i;
    const std::size_t first = position * batch;
    const LstmStep<T> step = {position,
                              kept_lengths,
                              last,
                              rows_of(states, first, batch),
                              gates.slice(first, batch),
                              tape.scratch(batch * hidden)};
    std::copy_n(last.h.value, batch * hidden, h_before.slice(first, batch).value);
    lstm_step_forward(step, weights.W_hh_transposed);
    steps.push_back(step);
    last = step.after;
  }
  tape.on_backward([=, steps = tape.keep(steps)] {
    for (std::size_t i = positions; i-- > 0;) lstm_step_backward(steps[i], W_hh);
    loops<T>().add_product(fast::transposed(fast::Matrix<T>{gates.gradient, gates.rows, gates.columns}),
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
    loops<T>().additive_scores(width, lengths[sample], query.value + sample * width,
                               rows_of_sample<const T>(keys.value, sample, batch, width), v.value,
                               hidden + sample * positions * width, scores.value + sample * positions);
  tape.on_backward([=, kept = tape.keep(lengths)] {
    for (std::size_t sample = 0; sample < batch; ++sample)
      loops<T>().additive_scores_backward(width, kept[sample], scores.gradient + sample * positions,
                                          hidden + sample * positions * width, v.value,
                                          query.gradient + sample * width,
                                          rows_of_sample(keys.gradient, sample, batch, width), v.gradient);
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
  tape.on_backward([=, kept = tape.keep(lengths)] {
    for (std::size_t sample = 0; sample < batch; ++sample)
      for (std::size_t position = 0; position < kept[sample]; ++position) {
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
    loops<T>().softmax(lengths[row], from, to);
  }
  tape.on_backward([=, kept = tape.keep(lengths)] {
    for (std::size_t row = 0; row < scores.rows; ++row) {
      const T *w = weights.value + row * positions, *d_w = weights.gradient + row * positions;
      const T mean = loops<T>().dot(kept[row], w, d_w);
      for (std::size_t i = 0; i < kept[row]; ++i)
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
  for (std::size_t sample = 0; sample < batch; ++sample)
    loops<T>().weighted_sum(width, lengths[sample], weights.value + sample * positions,
                            rows_of_sample<const T>(states.value, sample, batch, width),
                            context.value + sample * width);
  tape.on_backward([=, kept = tape.keep(lengths)] {
    for (std::size_t sample = 0; sample < batch; ++sample)
      loops<T>().weighted_sum_backward(
          width, kept[sample], weights.value + sample * positions,
          rows_of_sample<const T>(states.value, sample, batch, width), context.gradient + sample * width,
          weights.gradient + sample * positions, rows_of_sample(states.gradient, sample, batch, width));
  });
  return context;
}

#define ATTN_TRAIN_RECURRENT(T)                                                                              \
  template LstmState<T> lstm(Tape<T>&, const Variable<T>&, const LstmState<T>&, const LstmWeights<T>&,       \
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
