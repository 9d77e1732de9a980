#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "fast/bench/kernel.hpp"

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
  double error = 0.0;                      ///< against the same attention in float64
  std::string variant{};                   ///< what the lesson efficient calls it
  std::optional<double> relative_error{};  ///< against full attention

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

/// All functions of series throw std::invalid_argument for an empty one and, where there are two, for series
/// of different lengths.
struct Quartiles {
  double lower = 0.0;
  double median = 0.0;
  double upper = 0.0;
};

/// As numpy.percentile([25, 50, 75]): linear between the two nearest values.
Quartiles quartiles(std::vector<double> values);

double median(std::vector<double> values);

/// The median of xᵢ / yᵢ, where both were measured in round i: a disturbance that lasts longer than a round
/// affects both.
double median_ratio(const std::vector<double>& x, const std::vector<double>& y);

/// The exponent e of y ≈ c · xᵉ: the slope of the least-squares line through (ln xᵢ, ln yᵢ). Throws
/// std::invalid_argument unless there are two different x.
double fitted_exponent(const std::vector<double>& x, const std::vector<double>& y);

/// Statistics of the rounds of a series. Ratios are the medians of the ratios within each round.
struct Statistics {
  const Series* series = nullptr;
  Quartiles seconds{};
  double rate = 0.0;                   ///< useful operations a second in the median time
  double share_of_product = 0.0;       ///< of the rate of the matrix product
  double share_of_peak = 0.0;          ///< of the rate of the loop in registers
  std::optional<double> speedup{};     ///< over the xtensor kernel
  std::optional<double> of_forward{};  ///< backward: its time divided by that of forward
  std::optional<double> of_full{};  ///< where keys are hidden: its time divided by that with all keys visible
};

/// One for each series, in the same order, as long as the result is there.
std::vector<Statistics> statistics_of(const LengthResult& result);

/// How the time of a kernel grows with n.
struct Growth {
  std::string kernel;
  Pass pass = Pass::forward;
  std::optional<double> exponent{};  ///< of a fit over three lengths: two always lie on a line
  std::vector<double> lengths{};     ///< at which the kernel was timed, the three longest
};

/// For each pass of a kernel that was timed at two lengths or more. The exponent is fitted to its time in
/// units of the matrix product's time in the same rounds, so that a machine that slows down does not look
/// like growth.
std::vector<Growth> growth_of(const std::vector<LengthResult>& lengths);

}  // namespace attn::bench
