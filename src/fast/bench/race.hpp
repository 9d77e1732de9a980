#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "fast/bench/setting.hpp"

namespace attn::bench {

/// How long and how carefully is measured.
struct Effort {
  int rounds = 7;
  double seconds = 60.0;   ///< for all rounds; the slowest kernels are left out where they do not fit
  double shortest = 0.02;  ///< seconds of a measurement; quicker runs are repeated within it
};

/// A pass of a kernel at one length.
struct Series {
  std::string kernel;
  Pass pass = Pass::forward;
  double operations = 0.0;        ///< useful ones
  std::vector<double> seconds{};  ///< of one run, in each round
  std::optional<double> extra_bytes{};
  double error = 0.0;

  /// Useful operations a second, in each round.
  std::vector<double> rates() const;
};

/// All that was measured at one length, in the same rounds.
struct Heat {
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
  std::vector<Heat> heats{};
  std::vector<Omission> omissions{};
};

/// Is told the share of the work that is done, from 0 to 1, and what comes next.
using Progress = std::function<void(double share, const std::string& next)>;

/// Times the kernels of these names (all where there are none) at each setting: in each round every kernel,
/// the matrix product and the loop in registers once, one after the other and from another one on each time.
/// Before, each kernel has been tried out in a process of its own, see `try_out`. The settings differ in n
/// only and have rising n.
///
/// Throws Error for a name that there is not, for operands that do not fit in memory and where no kernel can
/// be timed. Instantiated for float and double. Not after anything was computed on several threads.
template <class T>
Result race(const std::vector<Setting>& settings, const std::vector<std::string>& names, const Effort& effort,
            const Progress& progress = {});

}  // namespace attn::bench
