#include "fast/bench/trial.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <thread>

#include "fast/bench/judge.hpp"
#include "fast/bench/stopwatch.hpp"
#include "fast/bench/yardstick.hpp"
#include "fast/exact/gemm.hpp"
#include "fast/parallel.hpp"

namespace attn::bench {

namespace {

/// In the place of a number that the system does not tell.
constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

template <class T>
void multiply_squares() {
  constexpr std::size_t size = 384;
  const std::vector<T> a(size * size);
  std::vector<T> c(size * size);
  exact::multiply<T>(T{1}, {a.data(), size, size}, {a.data(), size, size}, c.data());
}

/// BLAS maps a buffer, and keeps it, for each product that runs while others do: all threads multiply at the
/// same time, more than once because each may be held up. None waits long for the others.
template <class T>
void map_blas_buffers(int threads) {
  constexpr double longest_wait = 0.05;
  const int times = std::max(1, 12 / threads);
  use_blas_threads(threads);
  multiply_squares<T>();
  const exact::OneThreadEach products;
  for (int i = 0; i < times; ++i) {
    std::atomic<int> here = 0;
    const Stopwatch watch;
    for_each_task(static_cast<std::size_t>(threads), threads, [&](std::size_t) {
      ++here;
      while (here < threads && watch.seconds() < longest_wait) std::this_thread::yield();
      multiply_squares<T>();
    });
  }
}

/// Has everything in place that a first call sets up: threads, the buffers of BLAS, pages of code.
template <class T>
void warm_up(const Contestant<T>& contestant, Setting setting) {
  map_blas_buffers<T>(setting.threads);
  setting.n = std::min<std::size_t>(setting.n, 16);
  auto operands = draw_operands<T>(setting);
  const auto passes = contestant.prepare(operands, setting);
  passes.forward();
  if (passes.backward) passes.backward();
}

double seconds_within(double limit_in_seconds, const std::function<void()>& run) {
  const TimeLimit limit(limit_in_seconds);
  return seconds_of(run);
}

/// A quick run is repeated, so that what happened to disturb it is not taken for its time.
double quicker_of_two(double first, double limit, const std::function<void()>& run) {
  const double quick = std::min(0.5, limit / 2);
  return first < quick ? std::min(first, seconds_within(limit, run)) : first;
}

/// Seconds, bytes and error of each pass, one after the other.
template <class T>
std::vector<double> measure(const Contestant<T>& contestant, Operands<T>& operands, const Setting& setting,
                            double seconds) {
  const auto task = contestant.task(setting);
  if (setting.backward) Judge<T>::confine_loss(task, operands);
  map_allocations_one_by_one();
  warm_up(contestant, setting);
  const auto passes = contestant.prepare(operands, setting);

  std::vector<double> numbers;
  const AddressSpaceMeter memory;
  for (const auto* run : {&passes.forward, &passes.backward}) {
    if (!*run) continue;
    const double first = seconds_within(seconds, *run);
    const double bytes = memory.growth().value_or(unknown);
    numbers.insert(numbers.end(), {quicker_of_two(first, seconds, *run), bytes, 0.0});
  }
  const Judge<T> judge(task, operands);
  numbers[2] = judge.output_error();
  if (passes.backward) numbers[5] = judge.gradient_error();
  return numbers;
}

Trial trial_of(const double* numbers) {
  Trial trial{.seconds = numbers[0], .extra_bytes = numbers[1], .error = numbers[2]};
  if (std::isnan(numbers[1])) trial.extra_bytes.reset();
  return trial;
}

}  // namespace

template <class T>
std::variant<Trials, Ending> try_out(const Contestant<T>& contestant, Operands<T>& operands,
                                     const Setting& setting, double seconds) {
  const auto outcome = run_in_child([&] { return measure(contestant, operands, setting, seconds); });
  if (const auto* ending = std::get_if<Ending>(&outcome)) return *ending;
  const auto& numbers = std::get<std::vector<double>>(outcome);
  if (numbers.size() != 3 && numbers.size() != 6) return Ending::failed;
  Trials trials{.forward = trial_of(numbers.data())};
  if (numbers.size() == 6) trials.backward = trial_of(numbers.data() + 3);
  return trials;
}

template std::variant<Trials, Ending> try_out(const Contestant<float>&, Operands<float>&, const Setting&,
                                              double);
template std::variant<Trials, Ending> try_out(const Contestant<double>&, Operands<double>&, const Setting&,
                                              double);

}  // namespace attn::bench
