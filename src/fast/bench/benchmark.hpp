#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "fast/bench/setting.hpp"

namespace attn::bench {

/// How long the measurement may take and how often it is repeated.
struct Effort {
  int rounds = 7;
  double seconds = 60.0;   ///< for all rounds; the slowest kernels are left out if they do not fit
  double shortest = 0.02;  ///< seconds of a measurement; quicker runs are repeated within it
};

/// The measurements of one pass of a kernel at one length.
struct Series {
  std::string kernel;
  Pass pass = Pass::forward;
  double operations = 0.0;        ///< useful ones
  std::vector<double> seconds{};  ///< of one run, in each round
  std::optional<double> extra_bytes{};
  double error = 0.0;
  std::string variant{};
  std::optional<double> relative_error{};

  /// Useful operations a second, in each round.
  std::vector<double> rates() const;
};

/// All that was measured at one length, in the same rounds.
struct LengthResult {
  Setting setting;
  std::vector<Series> series{};
  std::vector<double> product_rates{};  ///< operations a second of the matrix product, in each round
  std::vector<double> peak_rates{};     ///< those of the loop in registers

  const Series* find(const std::string& kernel, Pass pass) const;
};

/// A kernel that was left out.
struct Omission {
  std::string kernel;
  std::size_t n = 0;
  std::string reason;
};

struct Result {
  std::vector<LengthResult> lengths{};
  std::vector<Omission> omissions{};
};

/// Called with the share of the work that is done, from 0 to 1, and with what comes next.
using Progress = std::function<void(double share, const std::string& next)>;

/// Times the kernels of these names (all where there are none) at each setting. Each round runs every kernel,
/// the matrix product and the loop in registers once, one after the other, and starts with another one of
/// them than the round before. Before the rounds each kernel is run once, see `try_out`. The settings differ
/// in n only and have rising n.
///
/// Throws Error for an unknown name, for operands that do not fit in memory and where no kernel can be timed.
/// Instantiated for float and double.
template <class T>
Result run_benchmark(const std::vector<Setting>& settings, const std::vector<std::string>& names,
                     const Effort& effort, const Progress& progress = {});

}  // namespace attn::bench
