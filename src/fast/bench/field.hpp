#pragma once

#include <vector>

#include "fast/bench/contestant.hpp"
#include "fast/bench/race.hpp"
#include "fast/bench/trial.hpp"

namespace attn::bench {

/// A kernel that runs at one of the settings.
template <class T>
struct Entrant {
  const Contestant<T>* contestant;
  std::size_t setting;  ///< its index
  Trials trials;
};

/// Who runs where.
template <class T>
struct Field {
  std::vector<Entrant<T>> entrants{};  ///< kernel by kernel, rising n
  std::vector<Omission> omissions{};
};

/// Tries every contestant at every setting, with its operands. Left out is who cannot run there, who would
/// keep more scores than memory holds, and who would take more than a quarter of the time in its rounds.
/// Instantiated for float and double, as the other.
template <class T>
Field<T> qualify(const std::vector<Contestant<T>>& contestants, const std::vector<Setting>& settings,
                 std::vector<Operands<T>>& operands, const Effort& effort, const Progress& progress);

/// Leaves the slowest entrants out until the rounds of the others fit into so many seconds. The quickest at
/// each setting stays.
template <class T>
void leave_out_slowest(Field<T>& field, const std::vector<Setting>& settings, const Effort& effort,
                       double seconds);

/// What an entrant's rounds take.
double expected_seconds(const Trials& trials, const Effort& effort);

}  // namespace attn::bench
