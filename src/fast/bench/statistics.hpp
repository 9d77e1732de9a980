#pragma once

#include <optional>

#include "fast/bench/benchmark.hpp"

namespace attn::bench {

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
  std::size_t n = 0;
  std::string kernel;
  Pass pass = Pass::forward;
  std::size_t rounds = 0;
  double operations = 0.0;
  Quartiles seconds{};
  double rate = 0.0;                   ///< useful operations a second in the median time
  double share_of_product = 0.0;       ///< of the rate of the matrix product
  double share_of_peak = 0.0;          ///< of the rate of the loop in registers
  std::optional<double> speedup{};     ///< over the xtensor kernel
  std::optional<double> of_forward{};  ///< backward: its time divided by that of forward
  std::optional<double> of_full{};  ///< where keys are hidden: its time divided by that with all keys visible
  std::optional<double> extra_bytes{};
  double error = 0.0;                      ///< against the same attention in float64
  std::string variant{};                   ///< what the lesson efficient calls it
  std::optional<double> relative_error{};  ///< against full attention
};

/// One for each series, in the same order.
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
