#include "fast/bench/field.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include "attn/memory.hpp"

namespace attn::bench {

namespace {

double operations_of(const Task& task) {
  return task.operations(Pass::forward) + (task.setting.backward ? task.operations(Pass::backward) : 0.0);
}

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

/// One contestant on its way from the shortest length to the longest.
template <class T>
class Qualification {
 public:
  Qualification(const Contestant<T>& contestant, const Effort& effort)
      : contestant_(contestant), effort_(effort) {}

  /// The trial, or why there is none.
  std::variant<Trials, std::string> try_at(const Setting& setting, Operands<T>& operands) {
    if (const auto obstacle = contestant_.obstacle(setting); !obstacle.empty()) return obstacle;
    const double bytes = contestant_.score_bytes(setting);
    if (bytes > free_memory())
      return fmt::format("its scores need {}, and {} are free", in_bytes(bytes), in_bytes(free_memory()));
    const double operations = operations_of(contestant_.task(setting));
    if (operations * seconds_per_operation_ > longest_run(effort_)) return too_slow(effort_);
    const auto outcome = try_out(contestant_, operands, setting, longest_run(effort_));
    if (const auto* trials = std::get_if<Trials>(&outcome)) {
      seconds_per_operation_ = trials->seconds() / operations;
      return *trials;
    }
    return reason_for(std::get<Ending>(outcome), operations);
  }

 private:
  std::string reason_for(Ending ending, double operations) {
    if (ending == Ending::out_of_memory) return "it runs out of memory";
    if (ending == Ending::failed) return "it fails";
    seconds_per_operation_ = longest_run(effort_) / operations;
    return too_slow(effort_);
  }

  const Contestant<T>& contestant_;
  const Effort& effort_;
  double seconds_per_operation_ = 0.0;  ///< at the last length, which is about what it will be at the next
};

}  // namespace

double expected_seconds(const Trials& trials, const Effort& effort) {
  const double passes = trials.backward ? 2.0 : 1.0;
  return effort.rounds * std::max(trials.seconds(), 2.0 * effort.shortest * passes);
}

template <class T>
Field<T> qualify(const std::vector<Contestant<T>>& contestants, const std::vector<Setting>& settings,
                 std::vector<Operands<T>>& operands, const Effort& effort, const Progress& progress) {
  Field<T> field;
  const auto count = static_cast<double>(contestants.size() * settings.size());
  double done = 0.0;
  for (const auto& contestant : contestants) {
    Qualification<T> qualification(contestant, effort);
    for (std::size_t i = 0; i < settings.size(); ++i) {
      progress(done++ / count, fmt::format("{} at n = {}", contestant.name, settings[i].n));
      const auto outcome = qualification.try_at(settings[i], operands[i]);
      if (const auto* reason = std::get_if<std::string>(&outcome))
        field.omissions.push_back({contestant.name, settings[i].n, *reason});
      else
        field.entrants.push_back({&contestant, i, std::get<Trials>(outcome)});
    }
  }
  return field;
}

template <class T>
void leave_out_slowest(Field<T>& field, const std::vector<Setting>& settings, const Effort& effort,
                       double seconds) {
  auto& entrants = field.entrants;
  std::vector<std::size_t> by_time(entrants.size());
  std::iota(by_time.begin(), by_time.end(), std::size_t{0});
  const auto expected = [&](std::size_t i) { return expected_seconds(entrants[i].trials, effort); };
  const auto time = [&](std::size_t i) { return std::pair(expected(i), entrants[i].trials.seconds()); };
  std::stable_sort(by_time.begin(), by_time.end(),
                   [&](std::size_t a, std::size_t b) { return time(a) < time(b); });
  std::set<std::size_t> kept, settings_seen;
  for (const std::size_t i : by_time) {
    seconds -= expected(i);
    const bool is_quickest = settings_seen.insert(entrants[i].setting).second;
    if (seconds >= 0.0 || is_quickest) kept.insert(i);
  }
  std::vector<Entrant<T>> remaining;
  for (std::size_t i = 0; i < entrants.size(); ++i) {
    if (kept.count(i) == 1)
      remaining.push_back(entrants[i]);
    else
      field.omissions.push_back(
          {entrants[i].contestant->name, settings[entrants[i].setting].n,
           fmt::format("{}, none shorter than {:g} ms, would take {:.2g} s, more than is "
                       "left of {:g} s",
                       rounds_of(effort), 1e3 * effort.shortest, expected(i), effort.seconds)});
  }
  entrants = std::move(remaining);
}

#define INSTANTIATE(T)                                                                      \
  template Field<T> qualify(const std::vector<Contestant<T>>&, const std::vector<Setting>&, \
                            std::vector<Operands<T>>&, const Effort&, const Progress&);     \
  template void leave_out_slowest(Field<T>&, const std::vector<Setting>&, const Effort&, double);
INSTANTIATE(float)
INSTANTIATE(double)

}  // namespace attn::bench
