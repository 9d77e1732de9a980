#include "fast/train/operations.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <new>
#include <stdexcept>
#include <utility>

#include "attn/lists.hpp"
#include "fast/train/loops.hpp"

namespace attn::train {

/// Whole huge pages where the system has them: a tape is long, and ordinary pages would be looked up anew
/// all the time.
template <class T>
typename Tape<T>::Block Tape<T>::block_of(std::size_t lines) {
  constexpr std::size_t page = std::size_t{1} << 21;
  const std::size_t bytes = (lines * sizeof(Line) + page - 1) / page * page;
  void* memory = std::aligned_alloc(page, bytes);
  if (!memory) throw std::bad_alloc();
#ifdef MADV_HUGEPAGE
  madvise(memory, bytes, MADV_HUGEPAGE);
#endif
  const auto release = [](Line* first) { std::free(first); };
  return {{static_cast<Line*>(memory), release}, bytes / sizeof(Line)};
}

template <class T>
T* Tape<T>::scratch(std::size_t numbers) {
  const std::size_t lines = (numbers * sizeof(T) + sizeof(Line) - 1) / sizeof(Line) + 1;
  while (block_ < blocks_.size() && used_ + lines > blocks_[block_].size) {
    ++block_;
    used_ = 0;
  }
  if (block_ == blocks_.size()) {
    blocks_.push_back(block_of(lines));
  }
  T* numbers_at = reinterpret_cast<T*>(blocks_[block_].lines.get() + used_);
  used_ += lines;
  return numbers_at;
}

template <class T>
Variable<T> Tape<T>::constant(std::size_t rows, std::size_t columns) {
  return {scratch(rows * columns), nullptr, rows, columns};
}

template <class T>
Variable<T> Tape<T>::variable(std::size_t rows, std::size_t columns, Gradient gradient) {
  Variable<T> result = constant(rows, columns);
  if (records_ && gradient == Gradient::in_place) {
    result.gradient = result.value;
  } else if (records_) {
    result.gradient = scratch(result.size());
    std::fill_n(result.gradient, result.size(), T{0});
  }
  return result;
}

template <class T>
void Tape<T>::backward(const Variable<T>& loss) {
  *loss.gradient = 1;
  for (auto work = backwards_.rbegin(); work != backwards_.rend(); ++work) (*work)();
}

template <class T>
void Tape<T>::clear() {
  backwards_.clear();
  block_ = 0;
  used_ = 0;
}

void WeightTable::add(std::string name, std::size_t rows, std::size_t columns, bool is_vector) {
  if (any_of(shapes_, [&](const WeightShape& shape) { return shape.name == name; }))
    throw std::logic_error("there are two weights " + name);
  shapes_.push_back({std::move(name), rows, columns, numbers(), is_vector});
}

std::size_t WeightTable::numbers() const {
  return shapes_.empty() ? 0 : shapes_.back().offset + shapes_.back().size();
}

const WeightShape& WeightTable::at(std::string_view name) const {
  for (const auto& shape : shapes_)
    if (shape.name == name) return shape;
  throw std::logic_error("there is no weight " + std::string(name));
}

namespace {

/// x M + the sum of the biases, with which each row begins; M is W or, as it `is_transposed`, Wᵀ.
template <class T>
Variable<T> affine(Tape<T>& tape, const Variable<T>& x, const Variable<T>& W, const fast::Matrix<T>& M,
                   bool is_transposed, std::initializer_list<Variable<T>> biases, Gradient gradient) {
  const Variable<T> y = tape.variable(x.rows, M.columns, gradient);
  const auto added = tape.keep(biases);
  if (y.rows > 0) {
    std::fill_n(y.value, y.columns, T{0});
    for (const auto& bias : added) loops<T>().add_scaled(y.columns, T{1}, bias.value, y.value);
    for (std::size_t row = 1; row < y.rows; ++row) std::copy_n(y.value, y.columns, y.value + row * y.columns);
    loops<T>().add_product(x.values(), M, y.value);
  }
  tape.on_backward([=] {
    const auto d_y = y.gradients(), W_back = is_transposed ? W.values() : fast::transposed(W.values());
    if (x.gradient) loops<T>().add_product(d_y, W_back, x.gradient);
    if (is_transposed)
      loops<T>().add_product(fast::transposed(d_y), x.values(), W.gradient);
    else
      loops<T>().add_product(fast::transposed(x.values()), d_y, W.gradient);
    for (const auto& bias : added)
      for (std::size_t row = 0; row < y.rows; ++row)
        loops<T>().add_scaled(y.columns, T{1}, y.gradient + row * y.columns, bias.gradient);
  });
  return y;
}

/// Where a part begins in a block matrix.
template <class T>
struct PartOfBlock {
  Variable<T> part;
  std::size_t at;
};

}  // namespace

template <class T>
Variable<T> Tape<T>::transpose(const Variable<T>& W) {
  constexpr std::size_t tile = 16;
  const Variable<T> result = constant(W.columns, W.rows);
  for (std::size_t first = 0; first < W.rows; first += tile)
    for (std::size_t j = 0; j < W.columns; ++j)
      for (std::size_t i = first; i < std::min(first + tile, W.rows); ++i)
        result.value[j * W.rows + i] = W.value[i * W.columns + j];
  return result;
}

template <class T>
Variable<T> Tape<T>::linear(const Variable<T>& x, const Variable<T>& W,
                            std::initializer_list<Variable<T>> biases, Gradient gradient) {
  return affine(*this, x, W, W.values(), false, biases, gradient);
}

template <class T>
Variable<T> Tape<T>::linear_transposed(const Variable<T>& x, const Variable<T>& W,
                                       const Variable<T>& W_transposed,
                                       std::initializer_list<Variable<T>> biases, Gradient gradient) {
  return affine(*this, x, W, W_transposed.values(), true, biases, gradient);
}

template <class T>
Variable<T> Tape<T>::embed(const Variable<T>& table, const std::vector<int>& ids) {
  const Variable<T> rows = variable(ids.size(), table.columns);
  const std::size_t width = table.columns;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    T* row = rows.value + i * width;
    if (ids[i] < 0)
      std::fill_n(row, width, T{0});
    else
      std::copy_n(table.value + static_cast<std::size_t>(ids[i]) * width, width, row);
  }
  on_backward([=, kept = keep(ids)] {
    for (std::size_t i = 0; i < kept.size(); ++i)
      if (kept[i] >= 0)
        loops<T>().add_scaled(width, T{1}, rows.gradient + i * width,
                              table.gradient + static_cast<std::size_t>(kept[i]) * width);
  });
  return rows;
}

template <class T>
Variable<T> Tape<T>::add(const Variable<T>& a, const Variable<T>& b, T factor) {
  const Variable<T> sum = variable(a.rows, a.columns);
  std::copy_n(a.value, a.size(), sum.value);
  loops<T>().add_scaled(b.size(), factor, b.value, sum.value);
  on_backward([=] {
    if (a.gradient) loops<T>().add_scaled(sum.size(), T{1}, sum.gradient, a.gradient);
    if (b.gradient) loops<T>().add_scaled(sum.size(), factor, sum.gradient, b.gradient);
  });
  return sum;
}

template <class T>
Variable<T> Tape<T>::block(const std::vector<std::vector<Variable<T>>>& parts) {
  std::size_t rows = 0, columns = 0;
  for (const auto& below : parts) rows += below.front().rows;
  for (const auto& beside : parts.front()) columns += beside.columns;
  const Variable<T> whole = variable(rows, columns);
  std::vector<PartOfBlock<T>> placed;
  std::size_t first_row = 0;
  for (const auto& below : parts) {
    std::size_t column = 0;
    for (const auto& part : below) {
      placed.push_back({part, first_row * columns + column});
      column += part.columns;
    }
    first_row += below.front().rows;
  }
  const auto for_each_row = [=, kept = keep(placed)](const auto& work) {
    for (const auto& [part, at] : kept)
      for (std::size_t row = 0; row < part.rows; ++row) work(part, row * part.columns, at + row * columns);
  };
  for_each_row([&](const Variable<T>& part, std::size_t from, std::size_t to) {
    std::copy_n(part.value + from, part.columns, whole.value + to);
  });
  on_backward([=] {
    for_each_row([&](const Variable<T>& part, std::size_t to, std::size_t from) {
      if (part.gradient) loops<T>().add_scaled(part.columns, T{1}, whole.gradient + from, part.gradient + to);
    });
  });
  return whole;
}

template <class T>
Variable<T> Tape<T>::tanh(const Variable<T>& x) {
  const Variable<T> y = variable(x.rows, x.columns);
  loops<T>().tanh(x.size(), x.value, y.value);
  on_backward([=] {
    for (std::size_t i = 0; i < y.size(); ++i) x.gradient[i] += y.gradient[i] * (1 - y.value[i] * y.value[i]);
  });
  return y;
}

template <class T>
Variable<T> Tape<T>::relu(const Variable<T>& x) {
  const Variable<T> y = variable(x.rows, x.columns);
  for (std::size_t i = 0; i < x.size(); ++i) y.value[i] = std::max(x.value[i], T{0});
  on_backward([=] {
    for (std::size_t i = 0; i < y.size(); ++i) x.gradient[i] += x.value[i] > 0 ? y.gradient[i] : T{0};
  });
  return y;
}

template <class T>
Variable<T> Tape<T>::dropout(const Variable<T>& x, double probability, Random* random) {
  if (!random || !records() || probability == 0) return x;
  const Variable<T> y = variable(x.rows, x.columns);
  T* mask = scratch(x.size());
  const T kept = static_cast<T>(1 / (1 - probability));
  for (std::size_t i = 0; i < x.size(); ++i) mask[i] = random->random_sample() < probability ? T{0} : kept;
  for (std::size_t i = 0; i < x.size(); ++i) y.value[i] = mask[i] * x.value[i];
  on_backward([=] {
    for (std::size_t i = 0; i < y.size(); ++i) x.gradient[i] += mask[i] * y.gradient[i];
  });
  return y;
}

template <class T>
Variable<T> Tape<T>::layer_norm(const Variable<T>& x, const Variable<T>& gain, const Variable<T>& bias) {
  const Variable<T> y = variable(x.rows, x.columns);
  const std::size_t width = x.columns;
  T* normalized = scratch(x.size());
  T* inverse_deviation = scratch(x.rows);
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
  on_backward([=] {
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
Variable<T> Tape<T>::mean_rows(const Variable<T>& x, const Lengths& lengths) {
  const std::size_t positions = x.rows / lengths.size();
  const Variable<T> mean = variable(lengths.size(), x.columns);
  std::fill_n(mean.value, mean.size(), T{0});
  const auto for_each_row = [=, kept = keep(lengths)](const auto& work) {
    for (std::size_t sample = 0; sample < kept.size(); ++sample)
      for (std::size_t position = 0; position < kept[sample]; ++position)
        work(sample * x.columns, (sample * positions + position) * x.columns,
             T{1} / static_cast<T>(kept[sample]));
  };
  for_each_row([&](std::size_t to, std::size_t from, T share) {
    loops<T>().add_scaled(x.columns, share, x.value + from, mean.value + to);
  });
  on_backward([=] {
    for_each_row([&](std::size_t from, std::size_t to, T share) {
      loops<T>().add_scaled(x.columns, share, mean.gradient + from, x.gradient + to);
    });
  });
  return mean;
}

template <class T>
Variable<T> Tape<T>::cross_entropy(const Variable<T>& logits, const std::vector<int>& targets, T scale) {
  const Variable<T> loss = variable(1, 1);
  const std::size_t classes = logits.columns;
  T sum = 0;
  for (std::size_t row = 0; row < logits.rows; ++row) {
    if (targets[row] < 0) continue;
    const T* scores = logits.value + row * classes;
    const T wanted = scores[targets[row]];
    T* shares = logits.gradient ? logits.gradient + row * classes : scratch(classes);
    const auto [largest, total] = loops<T>().softmax(classes, scores, shares);
    sum += std::log(total) + largest - wanted;
  }
  *loss.value = scale * sum;
  on_backward([=, kept = keep(targets)] {
    const T factor = scale * *loss.gradient;
    for (std::size_t row = 0; row < logits.rows; ++row) {
      T* d_scores = logits.gradient + row * classes;  // the shares until here
      if (kept[row] < 0) {
        std::fill_n(d_scores, classes, T{0});
      } else {
        for (std::size_t i = 0; i < classes; ++i) d_scores[i] *= factor;
        d_scores[kept[row]] -= factor;
      }
    }
  });
  return loss;
}

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
Attended<T> Tape<T>::attend(const Variable<T>& Q, const Variable<T>& K, const Variable<T>& V,
                            const HeadSizes& sizes, const Lengths& key_lengths) {
  const HeadProblem<T> problem = {sizes,
                                  key_lengths,
                                  Q,
                                  K,
                                  V,
                                  variable(Q.rows, V.columns),
                                  variable(sizes.batch * sizes.heads * sizes.queries, sizes.keys)};
  for (std::size_t sample = 0; sample < sizes.batch; ++sample)
    for (std::size_t head = 0; head < sizes.heads; ++head) attend_head(problem, sample, head);
  on_backward([problem] {
    for (std::size_t sample = 0; sample < problem.sizes.batch; ++sample)
      for (std::size_t head = 0; head < problem.sizes.heads; ++head)
        attend_head_backward(problem, sample, head);
  });
  return {problem.output, problem.weights};
}

template <class T>
Variable<T> Tape<T>::rotate(const Variable<T>& x, std::size_t positions, std::size_t heads) {
  const Variable<T> y = variable(x.rows, x.columns);
  const std::size_t d_k = x.columns / heads, pairs = d_k / 2;
  T *cosines = scratch(positions * pairs), *sines = scratch(positions * pairs);
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
  on_backward([=] {
    for_each_pair([&](std::size_t at, T cosine, T sine) {
      x.gradient[at] += y.gradient[at] * cosine + y.gradient[at + 1] * sine;
      x.gradient[at + 1] += y.gradient[at + 1] * cosine - y.gradient[at] * sine;
    });
  });
  return y;
}

template <class T>
Variable<T> Tape<T>::loss_of_looks(const Variable<T>& weights, const HeadSizes& sizes, std::size_t head,
                                   const std::vector<Look<T>>& looks, T scale) {
  constexpr T least_weight = T(1e-9);
  const auto index = [=](const Look<T>& look) {
    const std::size_t sample = look.row / sizes.queries, query = look.row % sizes.queries;
    return ((sample * sizes.heads + head) * sizes.queries + query) * sizes.keys + look.key;
  };
  const Variable<T> result = variable(1, 1);
  T sum = 0;
  for (const auto& look : looks)
    sum -= look.share * std::log(std::max(weights.value[index(look)], least_weight));
  *result.value = scale * sum;
  on_backward([=] {
    for (const auto& look : looks)
      weights.gradient[index(look)] -=
          scale * *result.gradient * look.share / std::max(weights.value[index(look)], least_weight);
  });
  return result;
}

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
LstmState<T> Tape<T>::lstm(const Variable<T>& x, const LstmState<T>& before, const LstmWeights<T>& weights,
                           const Lengths& lengths, Direction direction) {
  const Variable<T> W_hh = weights.W_hh;
  const std::size_t batch = lengths.size(), positions = x.rows / batch, hidden = W_hh.columns;
  const LstmState<T> states = {variable(x.rows, hidden), variable(x.rows, hidden)};
  const Variable<T> gates = linear_transposed(x, weights.W_ih, weights.W_ih_transposed,
                                              {weights.b_ih, weights.b_hh}, Gradient::in_place);
  const Variable<T> h_before = constant(x.rows, hidden);  // of each step, together for one product
  const auto kept_lengths = keep(lengths);
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
                              scratch(batch * hidden)};
    std::copy_n(last.h.value, batch * hidden, h_before.slice(first, batch).value);
    lstm_step_forward(step, weights.W_hh_transposed);
    steps.push_back(step);
    last = step.after;
  }
  on_backward([=, steps = keep(steps)] {
    for (std::size_t i = positions; i-- > 0;) lstm_step_backward(steps[i], W_hh);
    loops<T>().add_product(fast::transposed(gates.gradients()), h_before.values(), W_hh.gradient);
  });
  return states;
}

template <class T>
Variable<T> Tape<T>::additive_scores(const Variable<T>& query, const Variable<T>& keys, const Variable<T>& v,
                                     const Lengths& lengths) {
  const std::size_t batch = query.rows, width = query.columns, positions = keys.rows / batch;
  const Variable<T> scores = variable(batch, positions);
  T* hidden = scratch(keys.size());
  for (std::size_t sample = 0; sample < batch; ++sample)
    loops<T>().additive_scores(width, lengths[sample], query.value + sample * width,
                               rows_of_sample<const T>(keys.value, sample, batch, width), v.value,
                               hidden + sample * positions * width, scores.value + sample * positions);
  on_backward([=, kept = keep(lengths)] {
    for (std::size_t sample = 0; sample < batch; ++sample)
      loops<T>().additive_scores_backward(width, kept[sample], scores.gradient + sample * positions,
                                          hidden + sample * positions * width, v.value,
                                          query.gradient + sample * width,
                                          rows_of_sample(keys.gradient, sample, batch, width), v.gradient);
  });
  return scores;
}

template <class T>
Variable<T> Tape<T>::dot_scores(const Variable<T>& query, const Variable<T>& keys, const Lengths& lengths) {
  const std::size_t batch = query.rows, width = query.columns, positions = keys.rows / batch;
  const Variable<T> scores = variable(batch, positions);
  for (std::size_t sample = 0; sample < batch; ++sample)
    for (std::size_t position = 0; position < lengths[sample]; ++position)
      scores.value[sample * positions + position] = loops<T>().dot(
          width, query.value + sample * width, keys.value + (position * batch + sample) * width);
  on_backward([=, kept = keep(lengths)] {
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
Variable<T> Tape<T>::softmax(const Variable<T>& scores, const Lengths& lengths) {
  const std::size_t positions = scores.columns;
  const Variable<T> weights = variable(scores.rows, positions);
  std::fill_n(weights.value, weights.size(), T{0});
  for (std::size_t row = 0; row < scores.rows; ++row) {
    const T* from = scores.value + row * positions;
    T* to = weights.value + row * positions;
    loops<T>().softmax(lengths[row], from, to);
  }
  on_backward([=, kept = keep(lengths)] {
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
Variable<T> Tape<T>::weighted_sum(const Variable<T>& weights, const Variable<T>& states,
                                  const Lengths& lengths) {
  const std::size_t batch = weights.rows, positions = weights.columns, width = states.columns;
  const Variable<T> context = variable(batch, width);
  for (std::size_t sample = 0; sample < batch; ++sample)
    loops<T>().weighted_sum(width, lengths[sample], weights.value + sample * positions,
                            rows_of_sample<const T>(states.value, sample, batch, width),
                            context.value + sample * width);
  on_backward([=, kept = keep(lengths)] {
    for (std::size_t sample = 0; sample < batch; ++sample)
      loops<T>().weighted_sum_backward(
          width, kept[sample], weights.value + sample * positions,
          rows_of_sample<const T>(states.value, sample, batch, width), context.gradient + sample * width,
          weights.gradient + sample * positions, rows_of_sample(states.gradient, sample, batch, width));
  });
  return context;
}

template class Tape<float>;
template class Tape<double>;

}  // namespace attn::train
