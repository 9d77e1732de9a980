#pragma once

#include <vector>

/// What a series of measurements says. All throw std::invalid_argument for an empty series and, where there
/// are two, for series of different lengths.
namespace attn::bench {

struct Quartiles {
  double lower = 0.0;
  double median = 0.0;
  double upper = 0.0;
};

/// As numpy.percentile([25, 50, 75]): linear between the two nearest values.
Quartiles quartiles(std::vector<double> values);

double median(std::vector<double> values);

/// The median of xᵢ / yᵢ, where both were measured in round i: what disturbs a machine for longer than a
/// round disturbs both alike.
double median_ratio(const std::vector<double>& x, const std::vector<double>& y);

/// The exponent e of y ≈ c · xᵉ: the slope of the least-squares line through (ln xᵢ, ln yᵢ). Throws
/// std::invalid_argument unless there are two different x.
double fitted_exponent(const std::vector<double>& x, const std::vector<double>& y);

}  // namespace attn::bench
