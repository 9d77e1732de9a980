#include "fast/train/heads.hpp"

#include <algorithm>
#include <cmath>

#include "fast/train/loops.hpp"

namespace attn::train {

namespace {

/// The rows of one head of one sample.
template <class T>
StridedRows<T> head_rows(T* data, std::size_t sample, std::size_t positions, std::size_t head,
                         std::size_t heads, std::size_t columns) {
  return {data + sample * positions * columns + head * (columns / heads), columns};
}

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
    return head_rows(x.*part, sample, positions, head, sizes.heads, x.columns);
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
Variable<T> entropy(Tape<T>& tape, const Variable<T>& weights, const HeadSizes& sizes,
                    const Lengths& query_lengths, T scale) {
  const Variable<T> result = tape.variable(1, 1);
  const auto for_each_weight = [=](const auto& work) {
    for (std::size_t row = 0; row < weights.rows; ++row) {
      const std::size_t sample = row / (sizes.heads * sizes.queries);
      if (row % sizes.queries >= query_lengths[sample]) continue;
      for (std::size_t at = row * sizes.keys; at < (row + 1) * sizes.keys; ++at)
        if (weights.value[at] > 0) work(at);
    }
  };
  T sum = 0;
  for_each_weight([&](std::size_t at) { sum -= weights.value[at] * std::log(weights.value[at]); });
  *result.value = scale * sum;
  tape.on_backward([=] {
    const T factor = scale * *result.gradient;
    for_each_weight(
        [&](std::size_t at) { weights.gradient[at] -= factor * (std::log(weights.value[at]) + 1); });
  });
  return result;
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
  template Variable<T> entropy(Tape<T>&, const Variable<T>&, const HeadSizes&, const Lengths&, T);  \
  template Variable<T> loss_of_looks(Tape<T>&, const Variable<T>&, const HeadSizes&, std::size_t,   \
                                     const std::vector<Look<T>>&, T);

ATTN_TRAIN_HEADS(float)
ATTN_TRAIN_HEADS(double)
#undef ATTN_TRAIN_HEADS

}  // namespace attn::train
