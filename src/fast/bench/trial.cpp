#include <algorithm>
#include <array>
#include <cmath>
#include <new>
#include <utility>
#include <xtensor/xview.hpp>

#include "attn/ops/measure.hpp"
#include "fast/bench/baselines.hpp"
#include "fast/bench/benchmark.hpp"
#include "fast/exact/kernels.hpp"
#include "fast/linear/kernels.hpp"

namespace attn::bench {

namespace {

/// The rows of the checked queries, of the heads that read one key and value head.
template <class T>
auto checked_rows(const Array<T, 4>& tensor, const Setting& setting, std::size_t kv_head) {
  const std::size_t group = setting.heads / setting.kv_heads;
  return xt::view(tensor, xt::all(), xt::range(kv_head * group, (kv_head + 1) * group),
                  xt::keep(checked_queries(setting)), xt::all());
}

template <class T>
Array<double, 4> head_of(const Array<T, 4>& tensor, std::size_t head) {
  const std::size_t rows = tensor.shape(2), columns = tensor.shape(3);
  Array<double, 4> numbers(std::array<std::size_t, 4>{1, 1, rows, columns});
  std::copy_n(tensor.data() + head * rows * columns, rows * columns, numbers.begin());
  return numbers;
}

/// What kernel 1 computes in float64 of those rows.
template <class T>
Operands<double> reference(const Task& task, const Operands<T>& operands, std::size_t kv_head, Pass pass) {
  const auto& setting = task.setting;
  const auto queries = checked_queries(setting);
  Operands<double> block = {.query = checked_rows(operands.query, setting, kv_head),
                            .key = head_of(operands.key, kv_head),
                            .value = head_of(operands.value, kv_head),
                            .output = checked_rows(operands.output, setting, kv_head)};
  block.log_sum_exp = Array<double, 3>({1, setting.heads / setting.kv_heads, queries.size()});
  if (pass == Pass::backward) {
    block.d_output = checked_rows(operands.d_output, setting, kv_head);
    block.d_query = block.query;
    block.d_key = block.key;
    block.d_value = block.value;
  }
  auto call = exact_call(block, setting);
  call.sizes.heads /= call.sizes.kv_heads;
  call.sizes.kv_heads = 1;
  call.sizes.n_q = queries.size();
  call.visible.query_positions = queries;
  fast::BlockPattern single_keys = {.block = 1};
  if (task.pattern) {
    for (const auto query : queries) single_keys.key_blocks.push_back(task.keys_of(query));
    call.pattern = &single_keys;
  }
  const bool is_linear = task.formula == Task::Formula::linear;
  const auto& kernel = is_linear ? linear_time::kernels().front() : exact::kernels().front();
  kernel.forward(call);
  if (pass == Pass::backward) kernel.backward(call);
  return block;
}

/// Raises `largest` to the deviations from what was expected, and to NaN where one is.
template <class Found>
void compare(const Found& found, const Array<double, 4>& expected, double& largest) {
  auto number = expected.begin();
  for (const double actual : found) largest = maximum({largest, std::abs(actual - *number++)});
}

/// The largest deviation of the output, and the largest number that was expected there.
template <class T>
std::pair<double, double> compare_output(const Task& task, const Operands<T>& operands) {
  double deviation = 0.0, largest = 0.0;
  for (std::size_t kv_head = 0; kv_head < task.setting.kv_heads; ++kv_head) {
    const auto expected = reference(task, operands, kv_head, Pass::forward).output;
    compare(checked_rows(operands.output, task.setting, kv_head), expected, deviation);
    largest = std::max(largest, max_abs(expected));
  }
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
  for (std::size_t kv_head = 0; kv_head < task.setting.kv_heads; ++kv_head) {
    const auto expected = reference(task, operands, kv_head, Pass::backward);
    compare(checked_rows(operands.d_query, task.setting, kv_head), expected.d_query, largest);
    compare(head_of(operands.d_key, kv_head), expected.d_key, largest);
    compare(head_of(operands.d_value, kv_head), expected.d_value, largest);
  }
  return largest;
}

namespace {

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
                              double longest) {
  try {
    const auto passes = kernel.prepare(operands, setting);
    const AllocationMeter memory;
    const auto run = [&](const std::function<void()>& pass) {
      const double first = seconds_of(pass);
      const auto bytes = memory.growth();
      const bool is_quick = first < std::min(0.5, longest / 2);  // the first one may have been disturbed
      return Trial{.seconds = is_quick ? std::min(first, seconds_of(pass)) : first, .extra_bytes = bytes};
    };
    Trials trials{.forward = run(passes.forward)};
    if (passes.backward) trials.backward = run(passes.backward);
    const auto task = kernel.task(setting);
    trials.forward.error = output_error(task, operands);
    trials.forward.relative_error = relative_error(task, operands);
    if (trials.backward) trials.backward->error = gradient_error(task, operands);
    return trials;
  } catch (const std::bad_alloc&) {
    return std::nullopt;
  }
}

#define INSTANTIATE(T)                                                            \
  template double output_error(const Task&, const Operands<T>&);                  \
  template std::optional<double> relative_error(const Task&, const Operands<T>&); \
  template double gradient_error(const Task&, const Operands<T>&);                \
  template double seconds_per_operation(const Kernel<T>&, Setting, double);       \
  template std::optional<Trials> try_out(const Kernel<T>&, Operands<T>&, const Setting&, double);
INSTANTIATE(float)
INSTANTIATE(double)
#undef INSTANTIATE

}  // namespace attn::bench
