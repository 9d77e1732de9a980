#include "fast/bench/selection.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>
#include <variant>

#include "attn/budget.hpp"

namespace attn::bench {

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

/// The trials of one kernel from the shortest length to the longest.
template <class T>
class KernelTrials {
 public:
  KernelTrials(const Kernel<T>& kernel, const Effort& effort) : kernel_(kernel), effort_(effort) {}

  /// The trial, or why there is none.
  std::variant<Trials, std::string> try_at(const Setting& setting, Operands<T>& operands) {
    if (const auto reason = kernel_.unsupported(setting); !reason.empty()) return reason;
    const double bytes = kernel_.score_bytes(setting);
    if (bytes > free_memory())
      return fmt::format("its scores need {}, and {} are free", in_bytes(bytes), in_bytes(free_memory()));
    const double operations = operations_of(kernel_.task(setting)), longest = longest_run(effort_);
    if (rate_ == 0.0) rate_ = seconds_per_operation(kernel_, setting, longest);
    if (operations * rate_ > longest) return too_slow(effort_);
    const auto trials = try_out(kernel_, operands, setting, longest);
    if (!trials) return "it runs out of memory";
    rate_ = trials->seconds() / operations;
    if (operations * rate_ > longest) return too_slow(effort_);
    return *trials;
  }

 private:
  const Kernel<T>& kernel_;
  const Effort& effort_;
  double rate_ = 0.0;  ///< seconds an operation at the last length, about the same at the next
};

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
    KernelTrials<T> trials(kernel, effort);
    for (std::size_t i = 0; i < settings.size(); ++i) {
      progress(done++ / count, fmt::format("{} at n = {}", kernel.name, settings[i].n));
      const auto outcome = trials.try_at(settings[i], operands[i]);
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
  template Selection<T> select_kernels(const std::vector<Kernel<T>>&, const std::vector<Setting>&, \
                                       std::vector<Operands<T>>&, const Effort&, const Progress&); \
  template void leave_out_slowest(Selection<T>&, const std::vector<Setting>&, const Effort&, double);
INSTANTIATE(float)
INSTANTIATE(double)
#undef INSTANTIATE

}  // namespace attn::bench
