#include "attn/bench/trial.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "attn/bench/judge.hpp"
#include "attn/bench/stopwatch.hpp"
#include "attn/bench/yardstick.hpp"
#include "attn/kernels/exact/gemm.hpp"
#include "attn/kernels/parallel.hpp"

namespace attn::bench {

namespace {

/// In the place of a number that the system does not tell.
constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

/// Has everything in place that a first call sets up: threads, the buffers of BLAS, pages of code.
template <class T>
void warm_up(const Contestant<T>& contestant, Setting setting) {
  constexpr std::size_t size = 256;
  use_blas_threads(setting.threads);
  const std::vector<T> a(size * size);
  const auto multiply = [&](std::size_t) {
    std::vector<T> c(size * size);
    exact::multiply<T>(T{1}, {a.data(), size, size}, {a.data(), size, size}, c.data());
  };
  multiply(0);
  const auto threads = static_cast<std::size_t>(setting.threads);
  {
    const exact::OneThreadEach products;
    for_each_task(4 * threads, setting.threads, multiply);
  }
  setting.n = std::min<std::size_t>(setting.n, 16);
  auto operands = draw_operands<T>(setting);
  const auto passes = contestant.prepare(operands, setting);
  passes.forward();
  if (passes.backward) passes.backward();
}

/// The first run is the one whose memory counts. A quick one is run again, so that what happened to disturb
/// it is not taken for its time.
double quicker_of_two(const std::function<void()>& run) {
  constexpr double quick = 0.5;
  const double first = seconds_of(run);
  return first < quick ? std::min(first, seconds_of(run)) : first;
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
    const TimeLimit limit(seconds);
    const double taken = quicker_of_two(*run);
    numbers.insert(numbers.end(), {taken, memory.growth().value_or(unknown), 0.0});
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
