#pragma once

#include <limits>

inline constexpr double infinity = std::numeric_limits<double>::infinity();
inline constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

/// What the order of a few dozen sums of numbers around 1 changes at most.
inline constexpr double rounding = 1e-13;
