#pragma once

#include "fast/bench/benchmark.hpp"
#include "fast/bench/trial.hpp"

namespace attn::bench {

/// A kernel that is timed at one of the settings.
template <class T>
struct TimedKernel {
  const Kernel<T>* kernel;
  std::size_t setting;  ///< its index
  Trials trials;
};

/// Which kernels are timed at which settings.
template <class T>
struct Selection {
  std::vector<TimedKernel<T>> timed{};  ///< kernel by kernel, rising n
  std::vector<Omission> omissions{};
};

/// Tries every kernel at every setting, with its operands. Left out is a kernel that does not support the
/// setting, one whose scores do not fit in memory, and one whose rounds would take more than a quarter of the
/// time. Instantiated for float and double, as the other.
template <class T>
Selection<T> select_kernels(const std::vector<Kernel<T>>& kernels, const std::vector<Setting>& settings,
                            std::vector<Operands<T>>& operands, const Effort& effort,
                            const Progress& progress);

/// Leaves out the slowest kernels until the rounds of the others fit into this many seconds. The fastest at
/// each setting stays.
template <class T>
void leave_out_slowest(Selection<T>& selection, const std::vector<Setting>& settings, const Effort& effort,
                       double seconds);

/// How long the rounds of a kernel take.
double expected_seconds(const Trials& trials, const Effort& effort);

}  // namespace attn::bench
