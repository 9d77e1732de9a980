#include "fast/train/operations.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <new>
#include <stdexcept>
#include <utility>

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

template class Tape<float>;
template class Tape<double>;

namespace {

auto find(const std::vector<WeightShape>& shapes, std::string_view name) {
  return std::find_if(shapes.begin(), shapes.end(),
                      [&](const WeightShape& shape) { return shape.name == name; });
}

}  // namespace

void WeightTable::add(std::string name, std::size_t rows, std::size_t columns, bool is_vector) {
  if (find(shapes_, name) != shapes_.end()) throw std::logic_error("there are two weights " + name);
  shapes_.push_back({std::move(name), rows, columns, numbers(), is_vector});
}

std::size_t WeightTable::numbers() const {
  return shapes_.empty() ? 0 : shapes_.back().offset + shapes_.back().size();
}

const WeightShape& WeightTable::at(std::string_view name) const {
  const auto found = find(shapes_, name);
  if (found == shapes_.end()) throw std::logic_error("there is no weight " + std::string(name));
  return *found;
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
Variable<T> transpose(Tape<T>& tape, const Variable<T>& W) {
  const Variable<T> result = tape.constant(W.columns, W.rows);
  fast::transpose(W.values(), result.value);
  return result;
}

template <class T>
Variable<T> linear(Tape<T>& tape, const Variable<T>& x, const Variable<T>& W,
                   std::initializer_list<Variable<T>> biases, Gradient gradient) {
  return affine(tape, x, W, W.values(), false, biases, gradient);
}

template <class T>
Variable<T> linear_transposed(Tape<T>& tape, const Variable<T>& x, const Variable<T>& W,
                              const Variable<T>& W_transposed, std::initializer_list<Variable<T>> biases,
                              Gradient gradient) {
  return affine(tape, x, W, W_transposed.values(), true, biases, gradient);
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
  tape.on_backward([=, kept = tape.keep(ids)] {
    for (std::size_t i = 0; i < kept.size(); ++i)
      if (kept[i] >= 0)
        loops<T>().add_scaled(width, T{1}, rows.gradient + i * width,
                              table.gradient + static_cast<std::size_t>(kept[i]) * width);
  });
  return rows;
}

template <class T>
Variable<T> add(Tape<T>& tape, const Variable<T>& a, const Variable<T>& b, T factor) {
  const Variable<T> sum = tape.variable(a.rows, a.columns);
  std::copy_n(a.value, a.size(), sum.value);
  loops<T>().add_scaled(b.size(), factor, b.value, sum.value);
  tape.on_backward([=] {
    if (a.gradient) loops<T>().add_scaled(sum.size(), T{1}, sum.gradient, a.gradient);
    if (b.gradient) loops<T>().add_scaled(sum.size(), factor, sum.gradient, b.gradient);
  });
  return sum;
}

template <class T>
Variable<T> block(Tape<T>& tape, const std::vector<std::vector<Variable<T>>>& parts) {
  std::size_t rows = 0, columns = 0;
  for (const auto& below : parts) rows += below.front().rows;
  for (const auto& beside : parts.front()) columns += beside.columns;
  const Variable<T> whole = tape.variable(rows, columns);
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
  for (const auto& [part, at] : placed)
    for (std::size_t row = 0; row < part.rows; ++row)
      std::copy_n(part.value + row * part.columns, part.columns, whole.value + at + row * columns);
  tape.on_backward([=, kept = tape.keep(placed)] {
    for (const auto& [part, at] : kept) {
      if (!part.gradient) continue;
      for (std::size_t row = 0; row < part.rows; ++row)
        loops<T>().add_scaled(part.columns, T{1}, whole.gradient + at + row * columns,
                              part.gradient + row * part.columns);
    }
  });
  return whole;
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
  const auto for_each_row = [=, kept = tape.keep(lengths)](const auto& work) {
    for (std::size_t sample = 0; sample < kept.size(); ++sample)
      for (std::size_t position = 0; position < kept[sample]; ++position)
        work(sample * x.columns, (sample * positions + position) * x.columns,
             T{1} / static_cast<T>(kept[sample]));
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
  T sum = 0;
  for (std::size_t row = 0; row < logits.rows; ++row) {
    if (targets[row] < 0) continue;
    const T* scores = logits.value + row * classes;
    const T wanted = scores[targets[row]];
    T* shares = logits.gradient ? logits.gradient + row * classes : tape.scratch(classes);
    const auto [largest, total] = loops<T>().softmax(classes, scores, shares);
    sum += std::log(total) + largest - wanted;
  }
  *loss.value = scale * sum;
  tape.on_backward([=, kept = tape.keep(targets)] {
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

#define ATTN_TRAIN_OPERATIONS(T)                                                                            \
  template Variable<T> linear(Tape<T>&, const Variable<T>&, const Variable<T>&,                             \
                              std::initializer_list<Variable<T>>, Gradient);                                \
  template Variable<T> transpose(Tape<T>&, const Variable<T>&);                                             \
  template Variable<T> linear_transposed(Tape<T>&, const Variable<T>&, const Variable<T>&,                  \
                                         const Variable<T>&, std::initializer_list<Variable<T>>, Gradient); \
  template Variable<T> embed(Tape<T>&, const Variable<T>&, const std::vector<int>&);                        \
  template Variable<T> block(Tape<T>&, const std::vector<std::vector<Variable<T>>>&);                       \
  template Variable<T> tanh(Tape<T>&, const Variable<T>&);                                                  \
  template Variable<T> relu(Tape<T>&, const Variable<T>&);                                                  \
  template Variable<T> dropout(Tape<T>&, const Variable<T>&, double, Random*);                              \
  template Variable<T> layer_norm(Tape<T>&, const Variable<T>&, const Variable<T>&, const Variable<T>&);    \
  template Variable<T> mean_rows(Tape<T>&, const Variable<T>&, const Lengths&);                             \
  template Variable<T> cross_entropy(Tape<T>&, const Variable<T>&, const std::vector<int>&, T);             \
  template Variable<T> add(Tape<T>&, const Variable<T>&, const Variable<T>&, T);

ATTN_TRAIN_OPERATIONS(float)
ATTN_TRAIN_OPERATIONS(double)
#undef ATTN_TRAIN_OPERATIONS

}  // namespace attn::train
