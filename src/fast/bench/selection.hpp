#pragma once

#include <optional>

#include "fast/bench/benchmark.hpp"
#include "fast/bench/kernel.hpp"

namespace attn::bench {

/// Checks of the results of a kernel against kernel 1 of its family in float64, at the `checked_queries`. An
/// error is the largest deviation of a number. Instantiated for float and double.
template <class T>
double output_error(const Task& task, const Operands<T>& operands);

/// How far the output is off from that of full attention in float64, at the `checked_queries`: the largest
/// difference, relative to the largest number there. Nothing of full attention itself.
template <class T>
std::optional<double> relative_error(const Task& task, const Operands<T>& operands);

/// The largest of the errors of the three gradients.
template <class T>
double gradient_error(const Task& task, const Operands<T>& operands);

/// The first run of one pass of a kernel.
struct Trial {
  double seconds = 0.0;
  std::optional<double> extra_bytes{};     ///< allocated at one time, at most, besides its operands
  double error = 0.0;                      ///< as reference_check.hpp says
  std::optional<double> relative_error{};  ///< likewise
};

struct Trials {
  Trial forward{};
  std::optional<Trial> backward{};  ///< its memory is that of both passes together

  double seconds() const { return forward.seconds + (backward ? backward->seconds : 0.0); }
};

/// Useful operations of all passes that are measured.
double operations_of(const Task& task);

/// Seconds that all passes take for a useful operation, measured at rising lengths below the setting's, 16,
/// 64, 256 …, for as long as none is expected to take more than `longest` seconds: a run cannot be stopped.
/// The first run also starts the threads and sets up BLAS. Instantiated for float and double.
template <class T>
double seconds_per_operation(const Kernel<T>& kernel, Setting setting, double longest);

/// Runs the kernel once, and once more where that takes far less than `longest` seconds. Nothing where memory
/// runs out. Instantiated for float and double.
template <class T>
std::optional<Trials> try_out(const Kernel<T>& kernel, Operands<T>& operands, const Setting& setting,
                              double longest);

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
