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
