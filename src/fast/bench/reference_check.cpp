#include "fast/bench/reference_check.hpp"

#include <algorithm>
#include <cmath>

#include "fast/exact/kernels.hpp"
#include "fast/linear/kernels.hpp"

namespace attn::bench {

namespace {

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

/// One query of a head with the keys that it reads.
template <class T>
class QueryReference {
 public:
  QueryReference(const Task& task, const Operands<T>& operands, std::size_t head, std::size_t query)
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
      linear_time::plain_forward<double>({.sizes = sizes(),
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
  fast::Sizes sizes() const { return {.n_k = keys.size(), .d_k = setting_.d_k, .d_v = setting_.d_v}; }

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

/// The largest deviation from numbers that were expected.
class Deviation {
 public:
  template <class T>
  void compare(const T* found, const double* expected, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      const double deviation = std::abs(static_cast<double>(found[i]) - expected[i]);
      largest_ = worse(largest_, deviation);
    }
  }

  double largest() const { return largest_; }

 private:
  double largest_ = 0.0;
};

/// Gradients of all keys or values, summed query by query.
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
    return deviation.largest();
  }

 private:
  Numbers sums_;
};

template <class T, class Visit>
void for_each_checked(const Task& task, const Operands<T>& operands, const Visit& visit) {
  for (const std::size_t query : checked_queries(task.setting))
    for (std::size_t head = 0; head < task.setting.heads; ++head) {
      QueryReference<T> one(task, operands, head, query);
      one.attend();
      visit(one, head, query);
    }
}

}  // namespace

template <class T>
double output_error(const Task& task, const Operands<T>& operands) {
  Deviation deviation;
  for_each_checked(task, operands, [&](const QueryReference<T>& one, std::size_t head, std::size_t query) {
    deviation.compare(row(operands.output, head, query), one.output.data(), one.output.size());
  });
  return deviation.largest();
}

template <class T>
std::optional<double> relative_error(const Task& task, const Operands<T>& operands) {
  if (task.is_full()) return std::nullopt;
  Deviation deviation;
  double largest = 0.0;
  const auto full = task.full();
  for_each_checked(full, operands, [&](const QueryReference<T>& one, std::size_t head, std::size_t query) {
    deviation.compare(row(operands.output, head, query), one.output.data(), one.output.size());
    for (const double number : one.output) largest = std::max(largest, std::abs(number));
  });
  return deviation.largest() == 0.0 ? 0.0 : deviation.largest() / largest;
}

template <class T>
double gradient_error(const Task& task, const Operands<T>& operands) {
  Deviation d_query;
  Gradients d_key(operands.d_key.size()), d_value(operands.d_value.size());
  for_each_checked(task, operands, [&](QueryReference<T>& one, std::size_t head, std::size_t query) {
    one.attend_backward();
    d_query.compare(row(operands.d_query, head, query), one.d_query.data(), one.d_query.size());
    d_key.add(one.d_key, one.keys, one.kv_head * task.setting.n);
    d_value.add(one.d_value, one.keys, one.kv_head * task.setting.n);
  });
  return worse(d_query.largest(), worse(d_key.error_of(operands.d_key), d_value.error_of(operands.d_value)));
}

template double output_error(const Task&, const Operands<float>&);
template double output_error(const Task&, const Operands<double>&);
template std::optional<double> relative_error(const Task&, const Operands<float>&);
template std::optional<double> relative_error(const Task&, const Operands<double>&);
template double gradient_error(const Task&, const Operands<float>&);
template double gradient_error(const Task&, const Operands<double>&);

}  // namespace attn::bench
