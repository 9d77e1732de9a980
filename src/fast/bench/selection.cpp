#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <new>
#include <numeric>
#include <set>
#include <utility>
#include <variant>

#include "attn/budget.hpp"
#include "attn/ops/measure.hpp"
#include "fast/bench/baselines.hpp"
#include "fast/bench/benchmark.hpp"
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
        reference_(task.formula == Task::Formula::linear ? linear_time::kernels().front()
                                                         : exact::kernels().front()) {
    append_row(query_, operands.query, head, query);
    for (const std::size_t key : keys) {
      append_row(key_, operands.key, kv_head, key);
      append_row(value_, operands.value, kv_head, key);
    }
    if (setting_.backward) append_row(d_output_, operands.d_output, head, query);
  }

  void attend() { reference_.forward(call()); }

  /// After `attend`.
  void attend_backward() {
    d_query.resize(query_.size());
    d_key.resize(key_.size());
    d_value.resize(value_.size());
    reference_.backward(call());
  }

  const std::vector<std::size_t> keys;
  const std::size_t kv_head;
  Numbers output;                   ///< [d_v]
  Numbers d_query, d_key, d_value;  ///< [d_k], [keys×d_k], [keys×d_v]

 private:
  exact::Call<double> call() {
    return {.sizes = {.n_k = keys.size(), .d_k = setting_.d_k, .d_v = setting_.d_v},
            .scale = 1.0 / std::sqrt(static_cast<double>(setting_.d_k)),
            .query = query_.data(),
            .key = key_.data(),
            .value = value_.data(),
            .output = output.data(),
            .log_sum_exp = &log_sum_exp_,
            .d_output = d_output_.data(),
            .d_query = d_query.data(),
            .d_key = d_key.data(),
            .d_value = d_value.data()};
  }

  const Setting& setting_;
  const exact::Kernel& reference_;
  Numbers query_, key_, value_, d_output_;
  double log_sum_exp_ = 0.0;
};

/// Raises `largest` to the deviations from what was expected, and to NaN where one is.
template <class T>
void compare(const T* found, const double* expected, std::size_t count, double& largest) {
  for (std::size_t i = 0; i < count; ++i)
    largest = maximum({largest, std::abs(static_cast<double>(found[i]) - expected[i])});
}

template <class T, class Visit>
void for_each_checked(const Task& task, const Operands<T>& operands, const Visit& visit) {
  for (const std::size_t query : checked_queries(task.setting))
    for (std::size_t head = 0; head < task.setting.heads; ++head) {
      QueryReference<T> one(task, operands, head, query);
      one.attend();
      visit(one, head, query);
    }
}

/// The largest deviation of the output, and the largest number that was expected there.
template <class T>
std::pair<double, double> compare_output(const Task& task, const Operands<T>& operands) {
  double deviation = 0.0, largest = 0.0;
  for_each_checked(task, operands, [&](const QueryReference<T>& one, std::size_t head, std::size_t query) {
    compare(row(operands.output, head, query), one.output.data(), one.output.size(), deviation);
    for (const double number : one.output) largest = std::max(largest, std::abs(number));
  });
  return {deviation, largest};
}

}  // namespace

template <class T>
double output_error(const Task& task, const Operands<T>& operands) {
  return compare_output(task, operands).first;
}

template <class T>
std::optional<double> relative_error(const Task& task, const Operands<T>& operands) {
  if (task.is_full()) return std::nullopt;
  const auto [deviation, largest] = compare_output(task.full(), operands);
  return deviation == 0.0 ? 0.0 : deviation / largest;
}

template <class T>
double gradient_error(const Task& task, const Operands<T>& operands) {
  double largest = 0.0;
  Numbers d_key(operands.d_key.size()), d_value(operands.d_value.size());
  const auto add = [](const Numbers& rows, const std::vector<std::size_t>& keys, std::size_t first_row,
                      Numbers& sums) {
    const std::size_t width = rows.size() / keys.size();
    for (std::size_t i = 0; i < keys.size(); ++i)
      for (std::size_t c = 0; c < width; ++c) sums[(first_row + keys[i]) * width + c] += rows[i * width + c];
  };
  for_each_checked(task, operands, [&](QueryReference<T>& one, std::size_t head, std::size_t query) {
    one.attend_backward();
    compare(row(operands.d_query, head, query), one.d_query.data(), one.d_query.size(), largest);
    add(one.d_key, one.keys, one.kv_head * task.setting.n, d_key);
    add(one.d_value, one.keys, one.kv_head * task.setting.n, d_value);
  });
  compare(operands.d_key.data(), d_key.data(), d_key.size(), largest);
  compare(operands.d_value.data(), d_value.data(), d_value.size(), largest);
  return largest;
}

namespace {

/// A quick run is repeated, so that a disturbance of the first one does not count.
double shorter_of_two(double first, double limit, const std::function<void()>& run) {
  const double quick = std::min(0.5, limit / 2);
  return first < quick ? std::min(first, seconds_of(run)) : first;
}

template <class T>
Trials measure(const Kernel<T>& kernel, Operands<T>& operands, const Setting& setting, double seconds) {
  const auto passes = kernel.prepare(operands, setting);
  const AllocationMeter memory;
  const auto run = [&](const std::function<void()>& pass) {
    const double first = seconds_of(pass);
    const auto bytes = memory.growth();
    return Trial{.seconds = shorter_of_two(first, seconds, pass), .extra_bytes = bytes};
  };
  Trials trials{.forward = run(passes.forward)};
  if (passes.backward) trials.backward = run(passes.backward);
  const auto task = kernel.task(setting);
  trials.forward.error = output_error(task, operands);
  trials.forward.relative_error = relative_error(task, operands);
  if (trials.backward) trials.backward->error = gradient_error(task, operands);
  return trials;
}

double seconds_for(const Passes& passes) {
  return seconds_of(passes.forward) + (passes.backward ? seconds_of(passes.backward) : 0.0);
}

}  // namespace

double operations_of(const Task& task) {
  return task.operations(Pass::forward) + (task.setting.backward ? task.operations(Pass::backward) : 0.0);
}

template <class T>
double seconds_per_operation(const Kernel<T>& kernel, Setting setting, double longest) {
  const std::size_t n = setting.n;
  double rate = 0.0;
  for (setting.n = std::min<std::size_t>(n, 16); setting.n < n || rate == 0.0; setting.n *= 4) {
    const double operations = operations_of(kernel.task(setting));
    if (operations * rate > longest) break;
    auto operands = draw_operands<T>(setting);
    const auto passes = kernel.prepare(operands, setting);
    seconds_for(passes);
    rate = seconds_for(passes) / operations;
  }
  return rate;
}

template <class T>
std::optional<Trials> try_out(const Kernel<T>& kernel, Operands<T>& operands, const Setting& setting,
                              double seconds) {
  try {
    return measure(kernel, operands, setting, seconds);
  } catch (const std::bad_alloc&) {
    return std::nullopt;
  }
}

namespace {

std::string rounds_of(const Effort& effort) {
  return effort.rounds == 1 ? "a round" : fmt::format("{} rounds", effort.rounds);
}

/// Seconds that a run may take.
double longest_run(const Effort& effort) {
  return effort.seconds / (4.0 * effort.rounds);
}

std::string too_slow(const Effort& effort) {
  return fmt::format("a run takes over {:.2g} s: {} would fill more than a quarter of {:g} s",
                     longest_run(effort), rounds_of(effort), effort.seconds);
}

/// The trial of a kernel, or why there is none. `rate` are the seconds that an operation took at the length
/// before, about the same at this one.
template <class T>
std::variant<Trials, std::string> try_at(const Kernel<T>& kernel, const Setting& setting,
                                         Operands<T>& operands, const Effort& effort, double& rate) {
  if (const auto reason = kernel.unsupported(setting); !reason.empty()) return reason;
  const double bytes = kernel.score_bytes(setting);
  if (bytes > free_memory())
    return fmt::format("its scores need {}, and {} are free", in_bytes(bytes), in_bytes(free_memory()));
  const double operations = operations_of(kernel.task(setting)), longest = longest_run(effort);
  if (rate == 0.0) rate = seconds_per_operation(kernel, setting, longest);
  if (operations * rate > longest) return too_slow(effort);
  const auto trials = try_out(kernel, operands, setting, longest);
  if (!trials) return "it runs out of memory";
  rate = trials->seconds() / operations;
  if (operations * rate > longest) return too_slow(effort);
  return *trials;
}

}  // namespace

double expected_seconds(const Trials& trials, const Effort& effort) {
  const double passes = trials.backward ? 2.0 : 1.0;
  return effort.rounds * std::max(trials.seconds(), 2.0 * effort.shortest * passes);
}

template <class T>
Selection<T> select_kernels(const std::vector<Kernel<T>>& kernels, const std::vector<Setting>& settings,
                            std::vector<Operands<T>>& operands, const Effort& effort,
                            const Progress& progress) {
  Selection<T> selection;
  const auto count = static_cast<double>(kernels.size() * settings.size());
  double done = 0.0;
  for (const auto& kernel : kernels) {
    double rate = 0.0;
    for (std::size_t i = 0; i < settings.size(); ++i) {
      progress(done++ / count, fmt::format("{} at n = {}", kernel.name, settings[i].n));
      const auto outcome = try_at(kernel, settings[i], operands[i], effort, rate);
      if (const auto* reason = std::get_if<std::string>(&outcome))
        selection.omissions.push_back({kernel.name, settings[i].n, *reason});
      else
        selection.timed.push_back({&kernel, i, std::get<Trials>(outcome)});
    }
  }
  return selection;
}

template <class T>
void leave_out_slowest(Selection<T>& selection, const std::vector<Setting>& settings, const Effort& effort,
                       double seconds) {
  auto& timed = selection.timed;
  std::vector<std::size_t> by_time(timed.size());
  std::iota(by_time.begin(), by_time.end(), std::size_t{0});
  const auto expected = [&](std::size_t i) { return expected_seconds(timed[i].trials, effort); };
  const auto time = [&](std::size_t i) { return std::pair(expected(i), timed[i].trials.seconds()); };
  std::stable_sort(by_time.begin(), by_time.end(),
                   [&](std::size_t a, std::size_t b) { return time(a) < time(b); });
  std::set<std::size_t> kept, settings_seen;
  for (const std::size_t i : by_time) {
    seconds -= expected(i);
    const bool is_fastest = settings_seen.insert(timed[i].setting).second;
    if (seconds >= 0.0 || is_fastest) kept.insert(i);
  }
  std::vector<TimedKernel<T>> remaining;
  for (std::size_t i = 0; i < timed.size(); ++i) {
    if (kept.count(i) == 1)
      remaining.push_back(timed[i]);
    else
      selection.omissions.push_back(
          {timed[i].kernel->name, settings[timed[i].setting].n,
           fmt::format("{}, none shorter than {:g} ms, would take {:.2g} s, more than is left of {:g} s",
                       rounds_of(effort), 1e3 * effort.shortest, expected(i), effort.seconds)});
  }
  timed = std::move(remaining);
}

#define INSTANTIATE(T)                                                                             \
  template double output_error(const Task&, const Operands<T>&);                                   \
  template std::optional<double> relative_error(const Task&, const Operands<T>&);                  \
  template double gradient_error(const Task&, const Operands<T>&);                                 \
  template double seconds_per_operation(const Kernel<T>&, Setting, double);                        \
  template std::optional<Trials> try_out(const Kernel<T>&, Operands<T>&, const Setting&, double);  \
  template Selection<T> select_kernels(const std::vector<Kernel<T>>&, const std::vector<Setting>&, \
                                       std::vector<Operands<T>>&, const Effort&, const Progress&); \
  template void leave_out_slowest(Selection<T>&, const std::vector<Setting>&, const Effort&, double);
INSTANTIATE(float)
INSTANTIATE(double)
#undef INSTANTIATE

}  // namespace attn::bench
