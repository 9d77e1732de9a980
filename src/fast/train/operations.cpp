#include "fast/train/operations.hpp"

#include <algorithm>
#include <cmath>

#include "fast/gemm.hpp"
#include "fast/train/loops.hpp"

namespace attn::train {

namespace {

template <class T>
fast::Matrix<T> matrix(const T* data, std::size_t rows, std::size_t columns) {
  return {data, rows, columns};
}

template <class T>
fast::Matrix<T> value_of(const Variable<T>& x) {
  return matrix<T>(x.value, x.rows, x.columns);
}

template <class T>
fast::Matrix<T> gradient_of(const Variable<T>& x) {
  return matrix<T>(x.gradient, x.rows, x.columns);
}

template <class T>
void accumulate(const Variable<T>& from, T* to) {
  loops<T>().add_scaled(from.size(), T{1}, from.gradient, to);
}

/// Adds each row of the gradient to the gradients of the biases.
template <class T>
void add_to_biases(const Variable<T>& y, const std::vector<Variable<T>>& biases) {
  for (const auto& bias : biases)
    for (std::size_t row = 0; row < y.rows; ++row)
      loops<T>().add_scaled(y.columns, T{1}, y.gradient + row * y.columns, bias.gradient);
}

/// Each row of y begins as the sum of the biases: 0 where there are none.
template <class T>
void begin_with(const std::vector<Variable<T>>& biases, const Variable<T>& y) {
  std::fill_n(y.value, y.columns, T{0});
  for (const auto& bias : biases) loops<T>().add_scaled(y.columns, T{1}, bias.value, y.value);
  for (std::size_t row = 1; row < y.rows; ++row) std::copy_n(y.value, y.columns, y.value + row * y.columns);
}

}  // namespace

template <class T>
Variable<T> linear(Tape<T>& tape, const Variable<T>& x, const Variable<T>& W,
                   std::initializer_list<Variable<T>> biases) {
  const Variable<T> y = tape.variable(x.rows, W.columns);
  const std::vector<Variable<T>> added(biases);
  begin_with(added, y);
  fast::add_product(value_of(x), value_of(W), y.value);
  tape.on_backward([=] {
    if (x.gradient) fast::add_product(gradient_of(y), fast::transposed(value_of(W)), x.gradient);
    fast::add_product(fast::transposed(value_of(x)), gradient_of(y), W.gradient);
    add_to_biases(y, added);
  });
  return y;
}

template <class T>
Variable<T> linear_transposed(Tape<T>& tape, const Variable<T>& x, const Variable<T>& W,
                              std::initializer_list<Variable<T>> biases) {
  const Variable<T> y = tape.variable(x.rows, W.rows);
  const std::vector<Variable<T>> added(biases);
  begin_with(added, y);
  fast::add_product(value_of(x), fast::transposed(value_of(W)), y.value);
  tape.on_backward([=] {
    if (x.gradient) fast::add_product(gradient_of(y), value_of(W), x.gradient);
    fast::add_product(fast::transposed(gradient_of(y)), value_of(x), W.gradient);
    add_to_biases(y, added);
  });
  return y;
}

template <class T>
Variable<T> embed(Tape<T>& tape, const Variable<T>& table, const std::vector<int>& ids) {
  const Variable<T> rows = tape.variable(ids.size(), table.columns);
  const std::size_t width = table.columns;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    T* row = rows.value + i * width;
    if (ids[i] < 0)
      std::fill_n(row, width, T{0});
    else
      std::copy_n(table.value + static_cast<std::size_t>(ids[i]) * width, width, row);
  }
  tape.on_backward([=] {
    for (std::size_t i = 0; i < ids.size(); ++i)
      if (ids[i] >= 0)
        loops<T>().add_scaled(width, T{1}, rows.gradient + i * width,
                              table.gradient + static_cast<std::size_t>(ids[i]) * width);
  });
  return rows;
}

template <class T>
Variable<T> add(Tape<T>& tape, const Variable<T>& a, const Variable<T>& b) {
  return add_scaled(tape, a, b, T{1});
}

template <class T>
Variable<T> add_scaled(Tape<T>& tape, const Variable<T>& a, const Variable<T>& b, T factor) {
  const Variable<T> sum = tape.variable(a.rows, a.columns);
  std::copy_n(a.value, a.size(), sum.value);
  loops<T>().add_scaled(b.size(), factor, b.value, sum.value);
  tape.on_backward([=] {
    if (a.gradient) accumulate(sum, a.gradient);
    if (b.gradient) loops<T>().add_scaled(sum.size(), factor, sum.gradient, b.gradient);
  });
  return sum;
}

template <class T>
Variable<T> concatenate(Tape<T>& tape, const std::vector<Variable<T>>& parts) {
  std::size_t columns = 0;
  for (const auto& part : parts) columns += part.columns;
  const Variable<T> joined = tape.variable(parts.front().rows, columns);
  std::size_t first = 0;
  for (const auto& part : parts) {
    for (std::size_t row = 0; row < part.rows; ++row)
      std::copy_n(part.value + row * part.columns, part.columns, joined.value + row * columns + first);
    first += part.columns;
  }
  tape.on_backward([=] {
    std::size_t begin = 0;
    for (const auto& part : parts) {
      if (part.gradient)
        for (std::size_t row = 0; row < part.rows; ++row)
          loops<T>().add_scaled(part.columns, T{1}, joined.gradient + row * columns + begin,
                                part.gradient + row * part.columns);
      begin += part.columns;
    }
  });
  return joined;
}

template <class T>
Variable<T> stack(Tape<T>& tape, const std::vector<Variable<T>>& parts) {
  std::size_t rows = 0;
  for (const auto& part : parts) rows += part.rows;
  const Variable<T> stacked = tape.variable(rows, parts.front().columns);
  std::size_t first = 0;
  for (const auto& part : parts) {
    std::copy_n(part.value, part.size(), stacked.slice(first, part.rows).value);
    first += part.rows;
  }
  tape.on_backward([=] {
    std::size_t begin = 0;
    for (const auto& part : parts) {
      if (part.gradient) accumulate(stacked.slice(begin, part.rows), part.gradient);
      begin += part.rows;
    }
  });
  return stacked;
}

template <class T>
Variable<T> tanh(Tape<T>& tape, const Variable<T>& x) {
  const Variable<T> y = tape.variable(x.rows, x.columns);
  loops<T>().tanh(x.size(), x.value, y.value);
  tape.on_backward([=] {
    for (std::size_t i = 0; i < y.size(); ++i) x.gradient[i] += y.gradient[i] * (1 - y.value[i] * y.value[i]);
  });
  return y;
}

template <class T>
Variable<T> relu(Tape<T>& tape, const Variable<T>& x) {
  const Variable<T> y = tape.variable(x.rows, x.columns);
  for (std::size_t i = 0; i < x.size(); ++i) y.value[i] = std::max(x.value[i], T{0});
  tape.on_backward([=] {
    for (std::size_t i = 0; i < y.size(); ++i) x.gradient[i] += x.value[i] > 0 ? y.gradient[i] : T{0};
  });
  return y;
}

template <class T>
Variable<T> dropout(Tape<T>& tape, const Variable<T>& x, double probability, Random* random) {
  if (!random || !tape.records() || probability == 0) return x;
  const Variable<T> y = tape.variable(x.rows, x.columns);
  T* mask = tape.scratch(x.size());
  const T kept = static_cast<T>(1 / (1 - probability));
  for (std::size_t i = 0; i < x.size(); ++i) mask[i] = random->random_sample() < probability ? T{0} : kept;
  for (std::size_t i = 0; i < x.size(); ++i) y.value[i] = mask[i] * x.value[i];
  tape.on_backward([=] {
    for (std::size_t i = 0; i < y.size(); ++i) x.gradient[i] += mask[i] * y.gradient[i];
  });
  return y;
}

template <class T>
Variable<T> layer_norm(Tape<T>& tape, const Variable<T>& x, const Variable<T>& gain,
                       const Variable<T>& bias) {
  const Variable<T> y = tape.variable(x.rows, x.columns);
  const std::size_t width = x.columns;
  T* normalized = tape.scratch(x.size());
  T* inverse_deviation = tape.scratch(x.rows);
  for (std::size_t row = 0; row < x.rows; ++row) {
    const T* from = x.value + row * width;
    T *to = y.value + row * width, *hat = normalized + row * width, sum = 0, squares = 0;
    for (std::size_t i = 0; i < width; ++i) sum += from[i];
    const T mean = sum / static_cast<T>(width);
    for (std::size_t i = 0; i < width; ++i) squares += (from[i] - mean) * (from[i] - mean);
    inverse_deviation[row] = 1 / std::sqrt(squares / static_cast<T>(width) + static_cast<T>(1e-5));
    for (std::size_t i = 0; i < width; ++i) hat[i] = (from[i] - mean) * inverse_deviation[row];
    for (std::size_t i = 0; i < width; ++i) to[i] = hat[i] * gain.value[i] + bias.value[i];
  }
  // d_x = (d_hat − mean(d_hat) − hat · mean(d_hat · hat)) / deviation, with d_hat = d_y · gain
  tape.on_backward([=] {
    for (std::size_t row = 0; row < x.rows; ++row) {
      const T *d_y = y.gradient + row * width, *hat = normalized + row * width;
      T *d_x = x.gradient + row * width, sum = 0, product = 0;
      for (std::size_t i = 0; i < width; ++i) {
        gain.gradient[i] += d_y[i] * hat[i];
        bias.gradient[i] += d_y[i];
        sum += d_y[i] * gain.value[i];
        product += d_y[i] * gain.value[i] * hat[i];
      }
      sum /= static_cast<T>(width);
      product /= static_cast<T>(width);
      for (std::size_t i = 0; i < width; ++i)
        d_x[i] += (d_y[i] * gain.value[i] - sum - hat[i] * product) * inverse_deviation[row];
    }
  });
  return y;
}

template <class T>
Variable<T> mean_rows(Tape<T>& tape, const Variable<T>& x, const Lengths& lengths) {
  const std::size_t positions = x.rows / lengths.size();
  const Variable<T> mean = tape.variable(lengths.size(), x.columns);
  std::fill_n(mean.value, mean.size(), T{0});
  const auto for_each_row = [=](const auto& work) {
    for (std::size_t sample = 0; sample < lengths.size(); ++sample)
      for (std::size_t position = 0; position < lengths[sample]; ++position)
        work(sample * x.columns, (sample * positions + position) * x.columns,
             T{1} / static_cast<T>(lengths[sample]));
  };
  for_each_row([&](std::size_t to, std::size_t from, T share) {
    loops<T>().add_scaled(x.columns, share, x.value + from, mean.value + to);
  });
  tape.on_backward([=] {
    for_each_row([&](std::size_t from, std::size_t to, T share) {
      loops<T>().add_scaled(x.columns, share, mean.gradient + from, x.gradient + to);
    });
  });
  return mean;
}

template <class T>
Variable<T> cross_entropy(Tape<T>& tape, const Variable<T>& logits, const std::vector<int>& targets,
                          T scale) {
  const Variable<T> loss = tape.variable(1, 1);
  const std::size_t classes = logits.columns;
  T* probabilities = tape.scratch(logits.size());
  T sum = 0;
  for (std::size_t row = 0; row < logits.rows; ++row) {
    if (targets[row] < 0) continue;
    const T* scores = logits.value + row * classes;
    T* shares = probabilities + row * classes;
    const T largest = *std::max_element(scores, scores + classes);
    const T total = loops<T>().exp_shifted(classes, scores, largest, shares);
    sum += std::log(total) + largest - scores[targets[row]];
    for (std::size_t i = 0; i < classes; ++i) shares[i] /= total;
  }
  *loss.value = scale * sum;
  tape.on_backward([=] {
    const T factor = scale * *loss.gradient;
    for (std::size_t row = 0; row < logits.rows; ++row) {
      if (targets[row] < 0) continue;
      T* d_scores = logits.gradient + row * classes;
      loops<T>().add_scaled(classes, factor, probabilities + row * classes, d_scores);
      d_scores[targets[row]] -= factor;
    }
  });
  return loss;
}

#define ATTN_TRAIN_OPERATIONS(T)                                                                         \
  template Variable<T> linear(Tape<T>&, const Variable<T>&, const Variable<T>&,                          \
                              std::initializer_list<Variable<T>>);                                       \
  template Variable<T> linear_transposed(Tape<T>&, const Variable<T>&, const Variable<T>&,               \
                                         std::initializer_list<Variable<T>>);                            \
  template Variable<T> embed(Tape<T>&, const Variable<T>&, const std::vector<int>&);                     \
  template Variable<T> add(Tape<T>&, const Variable<T>&, const Variable<T>&);                            \
  template Variable<T> concatenate(Tape<T>&, const std::vector<Variable<T>>&);                           \
  template Variable<T> stack(Tape<T>&, const std::vector<Variable<T>>&);                                 \
  template Variable<T> tanh(Tape<T>&, const Variable<T>&);                                               \
  template Variable<T> relu(Tape<T>&, const Variable<T>&);                                               \
  template Variable<T> dropout(Tape<T>&, const Variable<T>&, double, Random*);                           \
  template Variable<T> layer_norm(Tape<T>&, const Variable<T>&, const Variable<T>&, const Variable<T>&); \
  template Variable<T> mean_rows(Tape<T>&, const Variable<T>&, const Lengths&);                          \
  template Variable<T> cross_entropy(Tape<T>&, const Variable<T>&, const std::vector<int>&, T);          \
  template Variable<T> add_scaled(Tape<T>&, const Variable<T>&, const Variable<T>&, T);

ATTN_TRAIN_OPERATIONS(float)
ATTN_TRAIN_OPERATIONS(double)
#undef ATTN_TRAIN_OPERATIONS

}  // namespace attn::train
