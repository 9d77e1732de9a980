#pragma once

#include <cstdint>

#include "attn/tensor.hpp"

namespace attn {

/// Each element rounded to that format.
Tensor<2> round_to(Dtype dtype, Tensor<2> x);

/// The largest finite number of the format.
double largest_number(Dtype dtype);

/// The smallest number above 0 of the format that has all its digits.
double smallest_normal(Dtype dtype);

/// How far a number as large as x may be from the number of the format that it is rounded to.
double largest_rounding_error(Dtype dtype, double x);

/// For a larger x, exp(x) rounds to infinity: about 709.78 in float64, 88.72 in float32, 11.09 in float16.
double exp_overflows_above(Dtype dtype);

/// For a smaller x, exp(x) rounds to 0: about −745.13 in float64, −103.97 in float32, −17.33 in float16.
double exp_vanishes_below(Dtype dtype);

/// The numbers of half precision, IEEE 754's binary16, with no help from the processor: 1 bit for the sign, 5
/// for the exponent, 10 for the fraction. The largest finite one is 65504, the smallest above 0 is 2^-24.

/// The bits of the half nearest to x, of two as near the one whose last bit is 0. From 65520 on, halfway
/// from 65504 to where the next one would be, that is infinity. A NaN stays one and keeps its sign.
std::uint16_t half_bits(double x);

/// The number that these bits stand for.
double half_value(std::uint16_t bits);

}  // namespace attn
