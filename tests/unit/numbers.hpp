#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

inline constexpr double infinity = std::numeric_limits<double>::infinity();
inline constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

/// What the order of a few dozen sums of numbers around 1 changes at most.
inline constexpr double rounding = 1e-13;

/// |actual − expected|: 0 for equal infinities, infinite for any other infinity and for a NaN, so that it is
/// within no limit. std::max keeps it, as it would not keep a NaN.
inline double difference(double actual, double expected) {
  if (actual == expected) return 0.0;
  const double distance = std::abs(actual - expected);
  return std::isnan(distance) ? infinity : distance;
}

/// The largest difference of two ranges, element by element; infinite where one has more elements.
template <class Actual, class Expected>
double largest_difference(const Actual& actual, const Expected& expected) {
  auto a = std::begin(actual);
  auto e = std::begin(expected);
  double largest = 0.0;
  for (; a != std::end(actual) && e != std::end(expected); ++a, ++e)
    largest = std::max(largest, difference(static_cast<double>(*a), static_cast<double>(*e)));
  return a == std::end(actual) && e == std::end(expected) ? largest : infinity;
}

/// The largest |number| that is finite; 0 where there is none.
template <class Numbers>
double largest(const Numbers& numbers) {
  double magnitude = 0.0;
  for (const double x : numbers)
    if (std::isfinite(x)) magnitude = std::max(magnitude, std::abs(x));
  return magnitude;
}
