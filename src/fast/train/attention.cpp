#include <algorithm>
#include <cmath>

#include "fast/train/loops.hpp"
#include "fast/train/operations.hpp"

namespace attn::train {

namespace {

/// Keys that the query may see: all before this one.
std::size_t visible_keys(const HeadSizes& sizes, std::size_t length, std::size_t query) {
  return sizes.is_causal ? std::min(length, query + 1 + sizes.keys - sizes.queries) : length;
}

template <class T>
struct HeadProblem {
  HeadSizes sizes;
  Lengths lengths;
  Variable<T> Q, K, V, output, weights;

  std::size_t d_k() const { return Q.columns / sizes.heads; }
  std::size_t d_v() const { return V.columns / sizes.heads; }
  T scale() const { return 1 / std::sqrt(static_cast<T>(d_k())); }
  std::size_t first_weight(std::size_t sample, std::size_t head) const {
    return (sample * sizes.heads + head) * sizes.queries * sizes.keys;
  }
};

/// The matrices of one head of one sample: values, or their gradients.
template <class T>
struct Head {
  StridedRows<T> query, key, value, result;
};

template <class T>
Head<T> head_of(const HeadProblem<T>& problem, T* Variable<T>::*part, std::size_t sample, std::size_t head) {
  const auto& sizes = problem.sizes;
  const auto rows = [&](const Variable<T>& x, std::size_t positions) {
    const std::size_t first = sample * positions * x.columns + head * (x.columns / sizes.heads);
    return StridedRows<T>{x.*part + first, x.columns};
  };
  return {rows(problem.Q, sizes.queries), rows(problem.K, sizes.keys), rows(problem.V, sizes.keys),
          rows(problem.output, sizes.queries)};
}

template <class T>
void attend_head(const HeadProblem<T>& problem, std::size_t sample, std::size_t head) {
  const auto& [sizes, lengths, Q, K, V, output, weights] = problem;
  const auto [query, key, value, result] = head_of(problem, &Variable<T>::value, sample, head);
  const std::size_t d_k = problem.d_k(), d_v = problem.d_v();
  for (std::size_t i = 0; i < sizes.queries; ++i) {
    T* w = weights.value + problem.first_weight(sample, head) + i * sizes.keys;
    const std::size_t seen = visible_keys(sizes, lengths[sample], i);
    for (std::size_t j = 0; j < seen; ++j) {
      T score = 0;
      for (std::size_t c = 0; c < d_k; ++c) score += query[i][c] * key[j][c];
      w[j] = score * problem.scale();
    }
    if (seen > 0) loops<T>().softmax(seen, w, w);
    std::fill(w + seen, w + sizes.keys, T{0});
    std::fill_n(result[i], d_v, T{0});
    for (std::size_t j = 0; j < seen; ++j)
      for (std::size_t c = 0; c < d_v; ++c) result[i][c] += w[j] * value[j][c];
  }
}

template <class T>
void attend_head_backward(const HeadProblem<T>& problem, std::size_t sample, std::size_t head) {
  const auto& [sizes, lengths, Q, K, V, output, weights] = problem;
  const auto [query, key, value, result] = head_of(problem, &Variable<T>::value, sample, head);
  const auto [d_query, d_key, d_value, d_result] = head_of(problem, &Variable<T>::gradient, sample, head);
  const std::size_t d_k = problem.d_k(), d_v = problem.d_v();
  for (std::size_t i = 0; i < sizes.queries; ++i) {
    const std::size_t at = problem.first_weight(sample, head) + i * sizes.keys;
    const T* w = weights.value + at;
    T *d_w = weights.gradient + at, mean = 0;
    const std::size_t seen = visible_keys(sizes, lengths[sample], i);
    for (std::size_t j = 0; j < seen; ++j) {
      for (std::size_t c = 0; c < d_v; ++c) {
        d_w[j] += d_result[i][c] * value[j][c];
        d_value[j][c] += w[j] * d_result[i][c];
      }
      mean += w[j] * d_w[j];
    }
    for (std::size_t j = 0; j < seen; ++j) {
      const T d_score = w[j] * (d_w[j] - mean) * problem.scale();
      for (std::size_t c = 0; c < d_k; ++c) {
        d_query[i][c] += d_score * key[j][c];
        d_key[j][c] += d_score * query[i][c];
      }
    }
  }
}

}  // namespace

template <class T>
Attended<T> attend(Tape<T>& tape, const Variable<T>& Q, const Variable<T>& K, const Variable<T>& V,
                   const HeadSizes& sizes, const Lengths& key_lengths) {
  const HeadProblem<T> problem = {sizes,
                                  key_lengths,
                                  Q,
                                  K,
                                  V,
                                  tape.variable(Q.rows, V.columns),
                                  tape.variable(sizes.batch * sizes.heads * sizes.queries, sizes.keys)};
  for (std::size_t sample = 0; sample < sizes.batch; ++sample)
    for (std::size_t head = 0; head < sizes.heads; ++head) attend_head(problem, sample, head);
  tape.on_backward([problem] {
    for (std::size_t sample = 0; sample < problem.sizes.batch; ++sample)
      for (std::size_t head = 0; head < problem.sizes.heads; ++head)
        attend_head_backward(problem, sample, head);
  });
  return {problem.output, problem.weights};
}

template <class T>
Variable<T> rotate(Tape<T>& tape, const Variable<T>& x, std::size_t positions, std::size_t heads) {
  const Variable<T> y = tape.variable(x.rows, x.columns);
  const std::size_t d_k = x.columns / heads, pairs = d_k / 2;
  T *cosines = tape.scratch(positions * pairs), *sines = tape.scratch(positions * pairs);
  for (std::size_t position = 0; position < positions; ++position)
    for (std::size_t pair = 0; pair < pairs; ++pair) {
      const double exponent = -2.0 * static_cast<double>(pair) / static_cast<double>(d_k);
      const double angle = static_cast<double>(position) * std::pow(10000.0, exponent);
      cosines[position * pairs + pair] = static_cast<T>(std::cos(angle));
      sines[position * pairs + pair] = static_cast<T>(std::sin(angle));
    }
  const auto for_each_pair = [=](const auto& work) {
    for (std::size_t row = 0; row < x.rows; ++row)
      for (std::size_t pair = 0; pair < pairs * heads; ++pair) {
        const std::size_t angle = row % positions * pairs + pair % pairs;
        work(row * x.columns + 2 * pair, cosines[angle], sines[angle]);
      }
  };
  for_each_pair([&](std::size_t at, T cosine, T sine) {
    y.value[at] = x.value[at] * cosine - x.value[at + 1] * sine;
    y.value[at + 1] = x.value[at] * sine + x.value[at + 1] * cosine;
  });
  tape.on_backward([=] {
    for_each_pair([&](std::size_t at, T cosine, T sine) {
      x.gradient[at] += y.gradient[at] * cosine + y.gradient[at + 1] * sine;
      x.gradient[at + 1] += y.gradient[at + 1] * cosine - y.gradient[at] * sine;
    });
  });
  return y;
}

template <class T>
Variable<T> loss_of_looks(Tape<T>& tape, const Variable<T>& weights, const HeadSizes& sizes, std::size_t head,
                          const std::vector<Look<T>>& looks, T scale) {
  constexpr T least_weight = T(1e-9);
  const auto index = [=](const Look<T>& look) {
    const std::size_t sample = look.row / sizes.queries, query = look.row % sizes.queries;
    return ((sample * sizes.heads + head) * sizes.queries + query) * sizes.keys + look.key;
  };
  const Variable<T> result = tape.variable(1, 1);
  T sum = 0;
  for (const auto& look : looks)
    sum -= look.share * std::log(std::max(weights.value[index(look)], least_weight));
  *result.value = scale * sum;
  tape.on_backward([=] {
    for (const auto& look : looks)
      weights.gradient[index(look)] -=
          scale * *result.gradient * look.share / std::max(weights.value[index(look)], least_weight);
  });
  return result;
}

#define ATTN_TRAIN_HEADS(T)                                                                         \
  template Attended<T> attend(Tape<T>&, const Variable<T>&, const Variable<T>&, const Variable<T>&, \
                              const HeadSizes&, const Lengths&);                                    \
  template Variable<T> rotate(Tape<T>&, const Variable<T>&, std::size_t, std::size_t);              \
  template Variable<T> loss_of_looks(Tape<T>&, const Variable<T>&, const HeadSizes&, std::size_t,   \
                                     const std::vector<Look<T>>&, T);

ATTN_TRAIN_HEADS(float)
ATTN_TRAIN_HEADS(double)
#undef ATTN_TRAIN_HEADS

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
  loops<T>().add_product(step.before.h.values(), W_hh_transposed.values(), step.gates.value);
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
    loops<T>().add_product(step.gates.gradients(), W_hh.values(), step.before.h.gradient);
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
    loops<T>().add_product(fast::transposed(gates.gradients()), h_before.values(), W_hh.gradient);
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
