#pragma once

#include <functional>
#include <string>
#include <vector>

#include "fast/bench/operands.hpp"
#include "fast/bench/task.hpp"

namespace attn::bench {

/// A kernel with its operands at hand: each call computes once. `backward` follows a `forward` and is empty
/// where the kernel has no way back.
struct Passes {
  std::function<void()> forward{};
  std::function<void()> backward{};

  const std::function<void()>& of(Pass pass) const { return pass == Pass::forward ? forward : backward; }
};

/// A kernel in the race.
template <class T>
struct Contestant {
  std::string name;
  std::function<Task(const Setting&)> task;

  /// Why it cannot run there: "takes no window". Empty where it can.
  std::function<std::string(const Setting&)> obstacle;

  /// Bytes of scores that it will keep at one time, where these grow with n².
  std::function<double(const Setting&)> score_bytes;

  /// Whatever is not to be timed. The passes must not outlive the operands.
  std::function<Passes(Operands<T>&, const Setting&)> prepare;
};

/// Those that can be timed, from the plainest on: the lessons' own attention on xtensor, and all that stand
/// in the tables of kernels. Where keys are hidden, the fastest ones once more with all keys visible,
/// "NAME-full": what hiding saves. Instantiated for float and double.
template <class T>
std::vector<Contestant<T>> contestants(bool keys_are_hidden);

}  // namespace attn::bench
