#include "fast/bench/race.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "fast/bench/field.hpp"
#include "fast/bench/heat.hpp"
#include "fast/bench/stopwatch.hpp"
#include "attn/error.hpp"
#include "attn/memory.hpp"
#include "attn/text/spelling.hpp"

namespace attn::bench {

namespace {

/// Of all work, until it is known how long the rest takes.
constexpr double share_of_trials = 0.25;

/// ", and with --causal or --window simd-full": those that there are only where keys are hidden.
template <class T>
std::string full_kernels(const std::vector<std::string>& others) {
  std::vector<std::string> names;
  for (const auto& contestant : contestants<T>(true))
    if (std::find(others.begin(), others.end(), contestant.name) == others.end())
      names.push_back(contestant.name);
  return fmt::format(", and with --causal or --window {}", fmt::join(names, ", "));
}

template <class T>
std::vector<Contestant<T>> contestants_named(const std::vector<std::string>& names, bool keys_are_hidden) {
  auto all = contestants<T>(keys_are_hidden);
  if (names.empty()) return all;
  std::vector<std::string> valid;
  for (const auto& contestant : all) valid.push_back(contestant.name);
  for (const auto& name : names)
    if (std::find(valid.begin(), valid.end(), name) == valid.end())
      throw Error(fmt::format("there is no kernel \"{}\"; did you mean {}? valid: {}{}", name,
                              nearest(name, valid), fmt::join(valid, ", "),
                              keys_are_hidden ? "" : full_kernels<T>(valid)));
  std::erase_if(
      all, [&](const auto& one) { return std::find(names.begin(), names.end(), one.name) == names.end(); });
  return all;
}

void require_memory(const std::vector<Setting>& settings, std::size_t element_size) {
  double needed =
      3.0 * static_cast<double>(SquareProduct<float>::size * SquareProduct<float>::size * element_size);
  for (const auto& setting : settings) needed += operand_bytes(setting, element_size);
  if (needed > free_memory())
    throw Error(
        fmt::format("the tensors of this run need about {}, and {} are free; valid: smaller dimensions or "
                    "shorter lengths",
                    in_bytes(needed), in_bytes(free_memory())));
}

/// The heats one after the other, each with its share of the time that is left.
template <class T>
class Race {
 public:
  Race(const std::vector<Setting>& settings, const Effort& effort, const Progress& progress)
      : settings_(settings), effort_(effort), progress_(progress) {}

  Result run(const std::vector<Contestant<T>>& contestants) {
    operands_.reserve(settings_.size());
    for (const auto& setting : settings_) operands_.push_back(draw_operands<T>(setting));
    field_ = qualify(contestants, settings_, operands_, effort_, [&](double share, const std::string& next) {
      progress_(share_of_trials * share, "trying " + next);
    });
    require_entrants();
    const int threads = settings_.front().threads;
    use_blas_threads(threads);
    Yardsticks<T> yardsticks(threads);
    watch_ = {};
    seconds_of_yardsticks_ =
        seconds_of([&] { yardsticks.product.run(); }) + seconds_of([&] { yardsticks.loop.run(); });
    leave_out_slowest(field_, settings_, effort_,
                      seconds_left() - yardstick_seconds() * static_cast<double>(settings_.size()));

    Result result{.omissions = field_.omissions};
    for (std::size_t i = 0; i < settings_.size(); ++i)
      if (const auto entrants = entrants_at(i); !entrants.empty())
        result.heats.push_back(run_heat_at(i, entrants, yardsticks));
    return result;
  }

 private:
  void require_entrants() const {
    if (!field_.entrants.empty()) return;
    const auto& [kernel, n, reason] = field_.omissions.front();
    throw Error(
        fmt::format("nothing can be timed ({} at n = {}: {}); valid: smaller sizes, more seconds or other "
                    "kernels",
                    kernel, n, reason));
  }

  double seconds_left() const { return effort_.seconds - watch_.seconds(); }
  double yardstick_seconds() const { return effort_.rounds * seconds_of_yardsticks_; }

  /// What the heats from the i-th on take.
  double expected_from(std::size_t i) const {
    double seconds = yardstick_seconds() * static_cast<double>(settings_.size() - i);
    for (const auto& entrant : field_.entrants)
      if (entrant.setting >= i) seconds += expected_seconds(entrant.trials, effort_);
    return seconds;
  }

  std::vector<const Entrant<T>*> entrants_at(std::size_t i) const {
    std::vector<const Entrant<T>*> entrants;
    for (const auto& entrant : field_.entrants)
      if (entrant.setting == i) entrants.push_back(&entrant);
    return entrants;
  }

  Heat run_heat_at(std::size_t i, const std::vector<const Entrant<T>*>& entrants, Yardsticks<T>& yardsticks) {
    const double all = expected_from(0), before = all - expected_from(i),
                 here = expected_from(i) - expected_from(i + 1);
    const double seconds = std::max(0.0, seconds_left()) * here / expected_from(i);
    return run_heat(settings_[i], entrants, operands_[i], yardsticks, effort_, seconds, [&](int round) {
      const double done = (before + here * round / effort_.rounds) / all;
      progress_(share_of_trials + (1.0 - share_of_trials) * done,
                fmt::format("n = {}, round {} of {}", settings_[i].n, round + 1, effort_.rounds));
    });
  }

  const std::vector<Setting>& settings_;
  const Effort& effort_;
  const Progress& progress_;
  Stopwatch watch_;  ///< since the trials are over
  std::vector<Operands<T>> operands_;
  Field<T> field_;
  double seconds_of_yardsticks_ = 0.0;  ///< a round of them
};

}  // namespace

std::vector<double> Series::rates() const {
  std::vector<double> rates(seconds.size());
  std::transform(seconds.begin(), seconds.end(), rates.begin(), [&](double s) { return operations / s; });
  return rates;
}

const Series* Heat::find(const std::string& kernel, Pass pass) const {
  const auto found = std::find_if(series.begin(), series.end(), [&](const Series& one) {
    return one.kernel == kernel && one.pass == pass;
  });
  return found == series.end() ? nullptr : &*found;
}

template <class T>
Result race(const std::vector<Setting>& settings, const std::vector<std::string>& names, const Effort& effort,
            const Progress& progress) {
  const auto contestants = contestants_named<T>(names, settings.front().hides_keys());
  require_memory(settings, sizeof(T));
  const Progress report = progress ? progress : [](double, const std::string&) {};
  return Race<T>(settings, effort, report).run(contestants);
}

template Result race<float>(const std::vector<Setting>&, const std::vector<std::string>&, const Effort&,
                            const Progress&);
template Result race<double>(const std::vector<Setting>&, const std::vector<std::string>&, const Effort&,
                             const Progress&);

}  // namespace attn::bench
