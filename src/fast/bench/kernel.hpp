#pragma once

#include <functional>
#include <string>

#include "fast/bench/operands.hpp"

namespace attn::bench {

/// A kernel with its operands: each call computes once. `backward` must follow a `forward` and is empty where
/// the kernel has no backward pass.
struct Passes {
  std::function<void()> forward{};
  std::function<void()> backward{};

  const std::function<void()>& of(Pass pass) const { return pass == Pass::forward ? forward : backward; }
};

/// A kernel that can be timed.
template <class T>
struct Kernel {
  std::string name;
  std::string variant;  ///< of attention, as the lesson efficient calls it: full, flash, sparse, linear
  std::function<Task(const Setting&)> task;

  /// Why it cannot run there: "takes no window". Empty where it can.
  std::function<std::string(const Setting&)> unsupported;

  /// Bytes of scores that it keeps at one time, where these grow with n².
  std::function<double(const Setting&)> score_bytes;

  /// Everything that is not to be timed. The passes must not outlive the operands.
  std::function<Passes(Operands<T>&, const Setting&)> prepare;
};

/// What the lesson efficient calls the attention that a kernel computes there: where a window leaves pairs
/// out it is local, or sliding where that ends at the query.
template <class T>
std::string variant_of(const Kernel<T>& kernel, const Setting& setting);

/// All kernels that can be timed, from the simplest on: the lessons' attention as whole tensors of xtensor,
/// then those of the tables of exact, block-sparse and linear attention. Where keys are hidden, the fastest
/// ones once more with all keys visible, "NAME-full", to show what hiding saves. Instantiated for float and
/// double.
template <class T>
std::vector<Kernel<T>> kernels(bool keys_are_hidden);

/// Attention as the lessons compute it: every step a whole tensor, and all of them kept.
template <class T>
Kernel<T> xtensor_kernel();

}  // namespace attn::bench
