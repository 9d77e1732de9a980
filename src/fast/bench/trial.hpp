#pragma once

#include <optional>

#include "fast/bench/kernel.hpp"

namespace attn::bench {

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

}  // namespace attn::bench
