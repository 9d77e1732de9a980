#pragma once

#include <string>
#include <vector>

#include "attn/tensor.hpp"

namespace attn {

/// NaN is near NaN alone.
bool is_near(double a, double b, double tolerance);

/// |a − b|: 0 between NaN and NaN, infinite where only one number is finite.
double difference(double a, double b);

/// Bit for bit, with NaN equal to NaN.
bool are_equal(const std::vector<double>& a, const std::vector<double>& b);

/// Of the numbers that are x once they are rounded to the floating-point type `dtype`, the one with the
/// fewest digits: 0.1 for the float32 nearest to it.
double with_fewest_digits(double x, Dtype dtype);

/// The shortest text that reads back as the finite number x of that type: "0.1", "1e+05", "1.5e-07".
std::string shortest(double x, Dtype dtype = Dtype::float64);

}  // namespace attn
