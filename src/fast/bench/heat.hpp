#pragma once

#include <functional>
#include <vector>

#include "fast/bench/field.hpp"
#include "fast/bench/yardstick.hpp"

namespace attn::bench {

/// What every kernel is compared with, made once for all lengths.
template <class T>
struct Yardsticks {
  explicit Yardsticks(int threads) : loop(threads) {}

  SquareProduct<T> product{};
  RegisterLoop<T> loop;
};

/// The rounds at one length, fewer where they take longer than `seconds` but at least one. `report` is called
/// before each round. Instantiated for float and double.
template <class T>
Heat run_heat(const Setting& setting, const std::vector<const Entrant<T>*>& entrants, Operands<T>& operands,
              Yardsticks<T>& yardsticks, const Effort& effort, double seconds,
              const std::function<void(int round)>& report);

}  // namespace attn::bench
