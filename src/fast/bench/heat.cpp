#include "fast/bench/heat.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

#include "fast/bench/stopwatch.hpp"

namespace attn::bench {

namespace {

/// Threads of OpenBLAS spin for some 25 ms before they sleep, on a core that the next in turn needs.
constexpr auto settling_time = std::chrono::milliseconds(50);

/// Something that is run over and over and timed each time.
class Timed {
 public:
  /// `expected` is what a run takes, roughly; a quick one is run twice to know it better.
  Timed(std::function<void()> run, double expected, double shortest) : run_(std::move(run)) {
    if (expected < 10.0 * shortest) {
      run_();
      expected = seconds_of(run_);
    }
    repetitions_ = static_cast<int>(std::clamp(std::ceil(shortest / expected), 1.0, 1e6));
  }

  /// Seconds of a run. A quick one is run once before, to have its operands in the caches.
  double measure() const {
    if (repetitions_ > 1) run_();
    const Stopwatch watch;
    for (int i = 0; i < repetitions_; ++i) run_();
    return watch.seconds() / repetitions_;
  }

 private:
  std::function<void()> run_;
  int repetitions_ = 1;
};

/// The passes of a kernel, with what was measured of them.
template <class T>
class Runner {
 public:
  Runner(const Entrant<T>& entrant, const Setting& setting, Operands<T>& operands, double shortest)
      : passes_(entrant.contestant->prepare(operands, setting)) {
    add(entrant, setting, Pass::forward, entrant.trials.forward, shortest);
    if (entrant.trials.backward) add(entrant, setting, Pass::backward, *entrant.trials.backward, shortest);
  }

  /// The way back right after the way there, whose results it reads.
  void take_turn() {
    for (std::size_t i = 0; i < timed_.size(); ++i) series_[i].seconds.push_back(timed_[i].measure());
  }

  const std::vector<Series>& series() const { return series_; }

 private:
  void add(const Entrant<T>& entrant, const Setting& setting, Pass pass, const Trial& trial,
           double shortest) {
    timed_.emplace_back(passes_.of(pass), trial.seconds, shortest);
    series_.push_back({.kernel = entrant.contestant->name,
                       .pass = pass,
                       .operations = entrant.contestant->task(setting).operations(pass),
                       .extra_bytes = trial.extra_bytes,
                       .error = trial.error});
  }

  Passes passes_;
  std::vector<Timed> timed_;
  std::vector<Series> series_;
};

using Turn = std::function<void()>;

/// One turn after the other, from another one on in each round.
void take_turns(const std::vector<Turn>& turns, int round, bool settles) {
  for (std::size_t i = 0; i < turns.size(); ++i) {
    if (settles) std::this_thread::sleep_for(settling_time);
    turns[(i + static_cast<std::size_t>(round)) % turns.size()]();
  }
}

}  // namespace

template <class T>
Heat run_heat(const Setting& setting, const std::vector<const Entrant<T>*>& entrants, Operands<T>& operands,
              Yardsticks<T>& yardsticks, const Effort& effort, double seconds,
              const std::function<void(int round)>& report) {
  const Stopwatch watch;
  Heat heat{.setting = setting};
  std::vector<Runner<T>> runners;
  for (const auto* entrant : entrants) runners.emplace_back(*entrant, setting, operands, effort.shortest);

  auto& [product, loop] = yardsticks;
  std::vector<Turn> turns = {
      [&] { heat.product_rates.push_back(product.operations() / seconds_of([&] { product.run(); })); },
      [&] { heat.peak_rates.push_back(loop.operations() / seconds_of([&] { loop.run(); })); }};
  for (auto& runner : runners) turns.emplace_back([&runner] { runner.take_turn(); });

  for (int round = 0; round < effort.rounds && (round == 0 || watch.seconds() < seconds); ++round) {
    report(round);
    take_turns(turns, round, setting.threads > 1);
  }
  for (const auto& runner : runners)
    heat.series.insert(heat.series.end(), runner.series().begin(), runner.series().end());
  return heat;
}

#define INSTANTIATE(T)                                                                        \
  template Heat run_heat(const Setting&, const std::vector<const Entrant<T>*>&, Operands<T>&, \
                         Yardsticks<T>&, const Effort&, double, const std::function<void(int round)>&);
INSTANTIATE(float)
INSTANTIATE(double)

}  // namespace attn::bench
