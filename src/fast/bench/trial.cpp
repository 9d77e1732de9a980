#include "fast/bench/trial.hpp"

#include <algorithm>
#include <new>

#include "fast/bench/allocations.hpp"
#include "fast/bench/reference_check.hpp"
#include "fast/bench/stopwatch.hpp"

namespace attn::bench {

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

#define INSTANTIATE(T)                                                      \
  template double seconds_per_operation(const Kernel<T>&, Setting, double); \
  template std::optional<Trials> try_out(const Kernel<T>&, Operands<T>&, const Setting&, double);
INSTANTIATE(float)
INSTANTIATE(double)
#undef INSTANTIATE

}  // namespace attn::bench
