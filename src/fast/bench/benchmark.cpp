#include "fast/bench/benchmark.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <numeric>
#include <set>
#include <stdexcept>
#include <thread>
#include <utility>
#include <xtensor/xadapt.hpp>
#include <xtensor/xmath.hpp>

#include "attn/budget.hpp"
#include "attn/error.hpp"
#include "attn/lists.hpp"
#include "attn/tensor.hpp"
#include "attn/text/spelling.hpp"
#include "fast/bench/baselines.hpp"
#include "fast/gemm.hpp"

namespace attn::bench {

namespace {

/// Of all work, until it is known how long the rest takes.
constexpr double share_of_trials = 0.25;

/// The kernels of these names, or of the variants of attention of these names.
template <class T>
std::vector<Kernel<T>> kernels_named(const std::vector<std::string>& names, bool keys_are_hidden) {
  auto all = kernels<T>(keys_are_hidden);
  if (names.empty()) return all;
  std::vector<std::string> valid, where_hidden;
  for (const auto& kernel : all) valid.push_back(kernel.name);
  for (const auto& kernel : kernels<T>(true))
    if (!contains(valid, kernel.name)) where_hidden.push_back(kernel.name);
  for (const auto& kernel : all)
    if (!contains(valid, kernel.variant)) valid.push_back(kernel.variant);
  for (const auto& name : names)
    if (!contains(valid, name))
      throw Error(fmt::format("there is no kernel \"{}\"; did you mean {}? valid: {}{}{}", name,
                              nearest(name, valid), fmt::join(valid, ", "),
                              where_hidden.empty() ? "" : ", and with --causal or --window ",
                              fmt::join(where_hidden, ", ")));
  std::erase_if(all,
                [&](const auto& one) { return !contains(names, one.name) && !contains(names, one.variant); });
  return all;
}

void require_memory(const std::vector<Setting>& settings, std::size_t element_size) {
  double needed = 3.0 * static_cast<double>(product_size * product_size * element_size);
  for (const auto& setting : settings) needed += operand_bytes(setting, element_size);
  if (needed > free_memory())
    throw Error(
        fmt::format("the tensors of this run need about {}, and {} are free; valid: smaller dimensions or "
                    "shorter lengths",
                    in_bytes(needed), in_bytes(free_memory())));
}

std::string rounds_of(const Effort& effort) {
  return effort.rounds == 1 ? "a round" : fmt::format("{} rounds", effort.rounds);
}

}  // namespace

double expected_seconds(const Trials& trials, const Effort& effort) {
  const double passes = trials.backward ? 2.0 : 1.0;
  return effort.rounds * std::max(trials.seconds(), 2.0 * effort.shortest * passes);
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
  std::set<std::size_t> left_out, settings_seen;
  for (const std::size_t i : by_time) {
    seconds -= expected(i);
    const bool is_fastest = settings_seen.insert(timed[i].setting).second;
    if (seconds < 0.0 && !is_fastest) left_out.insert(i);
  }
  for (const std::size_t i : left_out)
    selection.omissions.push_back(
        {timed[i].kernel->name, settings[timed[i].setting].n,
         fmt::format("{}, none shorter than {:g} ms, would take {:.2g} s, more than is left of {:g} s",
                     rounds_of(effort), 1e3 * effort.shortest, expected(i), effort.seconds)});
  for (auto i = left_out.rbegin(); i != left_out.rend(); ++i)
    timed.erase(timed.begin() + static_cast<std::ptrdiff_t>(*i));
}

template void leave_out_slowest(Selection<float>&, const std::vector<Setting>&, const Effort&, double);
template void leave_out_slowest(Selection<double>&, const std::vector<Setting>&, const Effort&, double);

namespace {

/// Threads of OpenBLAS spin for some 25 ms before they sleep, on a core that the next measurement needs.
constexpr auto settling_time = std::chrono::milliseconds(50);

/// A function that is run and timed repeatedly.
class TimedFunction {
 public:
  /// `expected` is the rough time of a run; a quick one is run twice to know it better.
  TimedFunction(std::function<void()> run, double expected, double shortest) : run_(std::move(run)) {
    if (expected < 10.0 * shortest) {
      run_();
      expected = seconds_of(run_);
    }
    repetitions_ = static_cast<int>(std::clamp(std::ceil(shortest / expected), 1.0, 1e6));
  }

  /// Seconds of a run. A quick one is run once before, so that its operands are in the caches.
  double seconds() const {
    if (repetitions_ > 1) run_();
    const Stopwatch watch;
    for (int i = 0; i < repetitions_; ++i) run_();
    return watch.seconds() / repetitions_;
  }

 private:
  std::function<void()> run_;
  int repetitions_ = 1;
};

/// One measurement after the other; each round starts with the next one.
void run_round(const std::vector<std::function<void()>>& measurements, int round, bool settles) {
  for (std::size_t i = 0; i < measurements.size(); ++i) {
    if (settles) std::this_thread::sleep_for(settling_time);
    measurements[(i + static_cast<std::size_t>(round)) % measurements.size()]();
  }
}

/// The rounds at one length, fewer where they take longer than `seconds` but at least one. `report` is called
/// before each round.
template <class T>
LengthResult run_rounds(const Setting& setting, const std::vector<const TimedKernel<T>*>& kernels,
                        Operands<T>& operands, Baselines<T>& baselines, const Effort& effort, double seconds,
                        const std::function<void(int round)>& report) {
  const Stopwatch watch;
  LengthResult result{.setting = setting};
  std::vector<std::function<void()>> measurements = {
      [&] { result.product_rates.push_back(baselines.product_rate()); },
      [&] { result.peak_rates.push_back(baselines.peak_rate()); }};
  for (const auto* one : kernels) {
    const auto& trials = one->trials;
    const auto passes = one->kernel->prepare(operands, setting);
    std::vector<std::pair<TimedFunction, std::size_t>> timed;  // with the place of its series
    const auto add = [&](Pass pass, const Trial& trial) {
      timed.emplace_back(TimedFunction(passes.of(pass), trial.seconds, effort.shortest),
                         result.series.size());
      result.series.push_back({.kernel = one->kernel->name,
                               .pass = pass,
                               .operations = one->kernel->task(setting).operations(pass),
                               .variant = one->kernel->variant_at(setting),
                               .trial = trial});
    };
    add(Pass::forward, trials.forward);
    if (trials.backward) add(Pass::backward, *trials.backward);
    measurements.emplace_back([timed, &result] {  // backward right after forward, whose results it reads
      for (const auto& [function, place] : timed) result.series[place].seconds.push_back(function.seconds());
    });
  }

  for (int round = 0; round < effort.rounds && (round == 0 || watch.seconds() < seconds); ++round) {
    report(round);
    run_round(measurements, round, setting.threads > 1);
  }
  return result;
}

/// The lengths one after the other, each with its share of the remaining time.
template <class T>
class Benchmark {
 public:
  Benchmark(const std::vector<Setting>& settings, const Effort& effort, const Progress& progress)
      : settings_(settings), effort_(effort), progress_(progress) {}

  Result run(const std::vector<Kernel<T>>& kernels) {
    operands_.reserve(settings_.size());
    for (const auto& setting : settings_) operands_.push_back(draw_operands<T>(setting));
    const int threads = settings_.front().threads;
    fast::set_blas_threads(threads);
    try_out_all(kernels);
    if (selection_.timed.empty()) {
      const auto& [kernel, n, reason] = selection_.omissions.front();
      throw Error(
          fmt::format("nothing can be timed ({} at n = {}: {}); valid: smaller sizes, more seconds or other "
                      "kernels",
                      kernel, n, reason));
    }
    Baselines<T> baselines(threads);
    watch_ = {};
    seconds_of_baselines_ = seconds_of([&] {
      baselines.product_rate();
      baselines.peak_rate();
    });
    leave_out_slowest(selection_, settings_, effort_,
                      seconds_left() - baseline_seconds() * static_cast<double>(settings_.size()));

    Result result{.omissions = selection_.omissions};
    for (std::size_t i = 0; i < settings_.size(); ++i)
      if (const auto timed = timed_at(i); !timed.empty())
        result.lengths.push_back(run_length(i, timed, baselines));
    return result;
  }

 private:
  /// Every kernel at every setting, with its operands. Left out is a kernel that does not support the
  /// setting, one whose scores do not fit in memory, and one whose rounds would take more than a quarter of
  /// the time.
  void try_out_all(const std::vector<Kernel<T>>& kernels) {
    const auto count = static_cast<double>(kernels.size() * settings_.size());
    double done = 0.0;
    for (const auto& kernel : kernels) {
      double rate = 0.0;
      for (std::size_t i = 0; i < settings_.size(); ++i) {
        progress_(share_of_trials * (done++ / count),
                  fmt::format("trying {} at n = {}", kernel.name, settings_[i].n));
        if (const auto reason = try_at(kernel, i, rate); !reason.empty())
          selection_.omissions.push_back({kernel.name, settings_[i].n, reason});
      }
    }
  }

  /// Why the kernel is left out at the i-th setting; empty where it is timed. `rate` are the seconds that an
  /// operation took at the length before, about the same at this one.
  std::string try_at(const Kernel<T>& kernel, std::size_t i, double& rate) {
    const auto& setting = settings_[i];
    if (const auto reason = kernel.unsupported(setting); !reason.empty()) return reason;
    const double bytes = kernel.score_bytes(setting);
    if (bytes > free_memory())
      return fmt::format("its scores need {}, and {} are free", in_bytes(bytes), in_bytes(free_memory()));
    const double operations = operations_of(kernel.task(setting));
    const double longest = effort_.seconds / (4.0 * effort_.rounds);  // that a run may take
    const auto too_slow =
        fmt::format("a run takes over {:.2g} s: {} would fill more than a quarter of {:g} s", longest,
                    rounds_of(effort_), effort_.seconds);
    if (rate == 0.0) rate = seconds_per_operation(kernel, setting, longest);
    if (operations * rate > longest) return too_slow;
    const auto trials = try_out(kernel, operands_[i], setting, longest);
    if (!trials) return "it runs out of memory";
    rate = trials->seconds() / operations;
    if (operations * rate > longest) return too_slow;
    selection_.timed.push_back({&kernel, i, *trials});
    return "";
  }

  double seconds_left() const { return effort_.seconds - watch_.seconds(); }
  double baseline_seconds() const { return effort_.rounds * seconds_of_baselines_; }

  /// Seconds that the lengths from the i-th on take.
  double expected_from(std::size_t i) const {
    double seconds = baseline_seconds() * static_cast<double>(settings_.size() - i);
    for (const auto& timed : selection_.timed)
      if (timed.setting >= i) seconds += expected_seconds(timed.trials, effort_);
    return seconds;
  }

  std::vector<const TimedKernel<T>*> timed_at(std::size_t i) const {
    std::vector<const TimedKernel<T>*> timed;
    for (const auto& one : selection_.timed)
      if (one.setting == i) timed.push_back(&one);
    return timed;
  }

  LengthResult run_length(std::size_t i, const std::vector<const TimedKernel<T>*>& timed,
                          Baselines<T>& baselines) {
    const double all = expected_from(0), before = all - expected_from(i),
                 here = expected_from(i) - expected_from(i + 1);
    const double seconds = std::max(0.0, seconds_left()) * here / expected_from(i);
    return run_rounds(settings_[i], timed, operands_[i], baselines, effort_, seconds, [&](int round) {
      const double done = (before + here * round / effort_.rounds) / all;
      progress_(share_of_trials + (1.0 - share_of_trials) * done,
                fmt::format("n = {}, round {} of {}", settings_[i].n, round + 1, effort_.rounds));
    });
  }

  const std::vector<Setting>& settings_;
  const Effort& effort_;
  const Progress& progress_;
  Stopwatch watch_;  ///< since the end of the trials
  std::vector<Operands<T>> operands_;
  Selection<T> selection_;
  double seconds_of_baselines_ = 0.0;  ///< of one run of each
};

}  // namespace

std::vector<double> Series::rates() const {
  std::vector<double> rates;
  for (const double one : seconds) rates.push_back(operations / one);
  return rates;
}

const Series* LengthResult::find(const std::string& kernel, Pass pass) const {
  for (const auto& one : series)
    if (one.kernel == kernel && one.pass == pass) return &one;
  return nullptr;
}

template <class T>
Result run_benchmark(const std::vector<Setting>& settings, const std::vector<std::string>& names,
                     const Effort& effort, const Progress& progress) {
  const auto selected = kernels_named<T>(names, settings.front().hides_keys());
  require_memory(settings, sizeof(T));
  return Benchmark<T>(settings, effort, progress).run(selected);
}

template Result run_benchmark<float>(const std::vector<Setting>&, const std::vector<std::string>&,
                                     const Effort&, const Progress&);
template Result run_benchmark<double>(const std::vector<Setting>&, const std::vector<std::string>&,
                                      const Effort&, const Progress&);

namespace {

constexpr std::ptrdiff_t lengths_to_fit = 3;

void require_pairs(const char* function, const std::vector<double>& x, const std::vector<double>& y) {
  if (x.size() != y.size() || x.empty())
    throw std::invalid_argument("[" + std::string(function) + "] " + std::to_string(x.size()) + " and " +
                                std::to_string(y.size()) + " values do not make pairs");
}

/// Of values in rising order.
double quantile(const std::vector<double>& sorted, double share) {
  const double place = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return std::lerp(sorted[below], sorted[above], place - static_cast<double>(below));
}

/// The median of the ratios of two times, round by round.
std::optional<double> time_ratio(const Series* series, const Series* other) {
  if (series == nullptr || other == nullptr) return std::nullopt;
  return median_ratio(series->seconds, other->seconds);
}

Statistics statistics_of(const Series& series, const LengthResult& result) {
  const auto rates = series.rates();
  const auto seconds = quartiles(series.seconds);
  const bool is_backward = series.pass == Pass::backward;
  return {.series = &series,
          .seconds = seconds,
          .rate = series.operations / seconds.median,
          .share_of_product = median_ratio(rates, result.product_rates),
          .share_of_peak = median_ratio(rates, result.peak_rates),
          .speedup = time_ratio(result.find("xtensor", series.pass), &series),
          .of_forward =
              is_backward ? time_ratio(&series, result.find(series.kernel, Pass::forward)) : std::nullopt,
          .of_full = time_ratio(&series, result.find(series.kernel + "-full", series.pass))};
}

/// The median time in units of the matrix product's.
double relative_time(const Series& series, const LengthResult& result) {
  return series.operations / median_ratio(series.rates(), result.product_rates);
}

}  // namespace

Quartiles quartiles(std::vector<double> values) {
  if (values.empty()) throw std::invalid_argument("[quartiles] there are no values");
  std::sort(values.begin(), values.end());
  return {quantile(values, 0.25), quantile(values, 0.5), quantile(values, 0.75)};
}

double median(std::vector<double> values) {
  return quartiles(std::move(values)).median;
}

double median_ratio(const std::vector<double>& x, const std::vector<double>& y) {
  require_pairs("median_ratio", x, y);
  std::vector<double> ratios(x.size());
  std::transform(x.begin(), x.end(), y.begin(), ratios.begin(), std::divides<>());
  return median(std::move(ratios));
}

double fitted_exponent(const std::vector<double>& x, const std::vector<double>& y) {
  require_pairs("fitted_exponent", x, y);
  const auto [smallest, largest] = std::minmax_element(x.begin(), x.end());
  if (*smallest == *largest) throw std::invalid_argument("[fitted_exponent] all x are the same");
  const Tensor<1> log_x = xt::log(xt::adapt(x)), centred = log_x - xt::mean(log_x)();
  return xt::sum(centred * xt::log(xt::adapt(y)))() / xt::sum(centred * centred)();
}

std::vector<Statistics> statistics_of(const LengthResult& result) {
  std::vector<Statistics> all;
  for (const auto& series : result.series) all.push_back(statistics_of(series, result));
  return all;
}

std::vector<Growth> growth_of(const std::vector<LengthResult>& lengths) {
  std::vector<Growth> growths;
  for (const auto& length : lengths)
    for (const auto& series : length.series) {
      if (any_of(growths,
                 [&](const Growth& one) { return one.kernel == series.kernel && one.pass == series.pass; }))
        continue;
      Growth growth = {.kernel = series.kernel, .pass = series.pass};
      std::vector<double> times;
      for (const auto& result : lengths)
        if (const auto* timed = result.find(series.kernel, series.pass)) {
          growth.lengths.push_back(static_cast<double>(result.setting.n));
          times.push_back(relative_time(*timed, result));
        }
      if (times.size() < 2) continue;
      for (auto* numbers : {&growth.lengths, &times})
        numbers->erase(numbers->begin(), numbers->end() - std::min(std::ssize(*numbers), lengths_to_fit));
      if (std::ssize(times) == lengths_to_fit) growth.exponent = fitted_exponent(growth.lengths, times);
      growths.push_back(std::move(growth));
    }
  return growths;
}

}  // namespace attn::bench
