#include "fast/bench/judge.hpp"

#include <algorithm>
#include <cmath>

#include "fast/exact/plain.hpp"
#include "fast/linear/kernels.hpp"

namespace attn::bench {

namespace {

/// Over all judged queries: a fraction of a second of plain loops.
constexpr double most_multiply_adds = 5e7;
constexpr std::size_t fewest_queries = 3;

using Numbers = std::vector<double>;

template <class T>
const T* row(const Array<T, 4>& tensor, std::size_t head, std::size_t index) {
  return tensor.data() + (head * tensor.shape(2) + index) * tensor.shape(3);
}

template <class T>
void append_row(Numbers& numbers, const Array<T, 4>& tensor, std::size_t head, std::size_t index) {
  const T* begin = row(tensor, head, index);
  numbers.insert(numbers.end(), begin, begin + tensor.shape(3));
}

/// A query of a head with the keys that it reads, by itself.
template <class T>
class OneQuery {
 public:
  OneQuery(const Task& task, const Operands<T>& operands, std::size_t head, std::size_t query)
      : keys(task.keys_of(query)),
        kv_head(head * task.setting.kv_heads / task.setting.heads),
        output(task.setting.d_v),
        setting_(task.setting),
        formula_(task.formula) {
    append_row(query_, operands.query, head, query);
    for (const std::size_t key : keys) {
      append_row(key_, operands.key, kv_head, key);
      append_row(value_, operands.value, kv_head, key);
    }
    if (setting_.backward) append_row(d_output_, operands.d_output, head, query);
  }

  void attend() {
    if (formula_ == Task::Formula::linear) {
      linear_time::kernels().front().forward64({.sizes = sizes(),
                                                .query = query_.data(),
                                                .key = key_.data(),
                                                .value = value_.data(),
                                                .output = output.data()});
    } else {
      exact::plain_forward(forward());
    }
  }

  /// After `attend`.
  void attend_backward() {
    d_query.resize(query_.size());
    d_key.resize(key_.size());
    d_value.resize(value_.size());
    exact::plain_backward<double>({.forward = forward(),
                                   .d_output = d_output_.data(),
                                   .d_query = d_query.data(),
                                   .d_key = d_key.data(),
                                   .d_value = d_value.data()});
  }

  const std::vector<std::size_t> keys;
  const std::size_t kv_head;
  Numbers output;                   ///< [d_v]
  Numbers d_query, d_key, d_value;  ///< [d_k], [keys×d_k], [keys×d_v]

 private:
  exact::Sizes sizes() const { return {.n_k = keys.size(), .d_k = setting_.d_k, .d_v = setting_.d_v}; }

  exact::Forward<double> forward() {
    return {.sizes = sizes(),
            .visible = {},
            .scale = 1.0 / std::sqrt(static_cast<double>(setting_.d_k)),
            .query = query_.data(),
            .key = key_.data(),
            .value = value_.data(),
            .output = output.data(),
            .log_sum_exp = &log_sum_exp_};
  }

  const Setting& setting_;
  const Task::Formula formula_;
  Numbers query_, key_, value_, d_output_;
  double log_sum_exp_ = 0.0;
};

/// The larger one, NaN above all.
double worse(double a, double b) {
  return std::isnan(a) || a > b ? a : b;
}

/// The largest deviation and the largest number that was expected.
class Deviation {
 public:
  template <class T>
  void compare(const T* found, const double* expected, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      const double deviation = std::abs(static_cast<double>(found[i]) - expected[i]);
      largest_ = worse(largest_, deviation);
      scale_ = std::max(scale_, std::abs(expected[i]));
    }
  }

  double relative() const { return scale_ > 0.0 ? largest_ / scale_ : largest_; }

 private:
  double largest_ = 0.0;
  double scale_ = 0.0;
};

/// Gradients of all keys or values, summed up query by query.
class Gradients {
 public:
  explicit Gradients(std::size_t count) : sums_(count) {}

  void add(const Numbers& rows, const std::vector<std::size_t>& keys, std::size_t first_row) {
    const std::size_t width = rows.size() / keys.size();
    for (std::size_t i = 0; i < keys.size(); ++i)
      for (std::size_t c = 0; c < width; ++c) sums_[(first_row + keys[i]) * width + c] += rows[i * width + c];
  }

  template <class T>
  double error_of(const Array<T, 4>& found) const {
    Deviation deviation;
    deviation.compare(found.data(), sums_.data(), sums_.size());
    return deviation.relative();
  }

 private:
  Numbers sums_;
};

template <class T, class Visit>
void for_each_judged(const Task& task, const Operands<T>& operands, const Visit& visit) {
  for (const std::size_t query : judged_queries(task.setting))
    for (std::size_t head = 0; head < task.setting.heads; ++head) {
      OneQuery<T> one(task, operands, head, query);
      one.attend();
      visit(one, head, query);
    }
}

}  // namespace

std::vector<std::size_t> judged_queries(const Setting& setting) {
  const double for_each =
      static_cast<double>(setting.n) * static_cast<double>(setting.heads * (setting.d_k + setting.d_v));
  const auto affordable = static_cast<std::size_t>(most_multiply_adds / for_each);
  const std::size_t count = std::min(setting.n, std::max(fewest_queries, affordable));
  std::vector<std::size_t> queries;
  for (std::size_t i = 0; i < count; ++i)
    queries.push_back(count == 1 ? 0 : i * (setting.n - 1) / (count - 1));
  return queries;
}

template <class T>
Judge<T>::Judge(const Task& task, const Operands<T>& operands) : task_(task), operands_(operands) {}

template <class T>
void Judge<T>::confine_loss(const Task& task, Operands<T>& operands) {
  const auto judged = judged_queries(task.setting);
  auto& d_output = operands.d_output;
  for (std::size_t head = 0; head < task.setting.heads; ++head)
    for (std::size_t query = 0; query < task.setting.n; ++query)
      if (!std::binary_search(judged.begin(), judged.end(), query))
        std::fill_n(d_output.data() + (head * task.setting.n + query) * task.setting.d_v, task.setting.d_v,
                    T{0});
}

template <class T>
double Judge<T>::output_error() const {
  Deviation deviation;
  for_each_judged(task_, operands_, [&](const OneQuery<T>& one, std::size_t head, std::size_t query) {
    deviation.compare(row(operands_.output, head, query), one.output.data(), one.output.size());
  });
  return deviation.relative();
}

template <class T>
double Judge<T>::gradient_error() const {
  Deviation d_query;
  Gradients d_key(operands_.d_key.size()), d_value(operands_.d_value.size());
  for_each_judged(task_, operands_, [&](OneQuery<T>& one, std::size_t head, std::size_t query) {
    one.attend_backward();
    d_query.compare(row(operands_.d_query, head, query), one.d_query.data(), one.d_query.size());
    d_key.add(one.d_key, one.keys, one.kv_head * task_.setting.n);
    d_value.add(one.d_value, one.keys, one.kv_head * task_.setting.n);
  });
  return worse(d_query.relative(),
               worse(d_key.error_of(operands_.d_key), d_value.error_of(operands_.d_value)));
}

template class Judge<float>;
template class Judge<double>;

}  // namespace attn::bench
