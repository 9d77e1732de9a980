#pragma once

#include <cstdint>

namespace attn {

/// The numbers of half precision, IEEE 754's binary16, with no help from the processor: 1 bit for the sign, 5
/// for the exponent, 10 for the fraction. The largest finite one is 65504, the smallest above 0 is 2^-24.

/// The bits of the half nearest to x, of two as near the one whose last bit is 0. From 65520 on, halfway
/// from 65504 to where the next one would be, that is infinity. A NaN stays one and keeps its sign.
std::uint16_t half_bits(double x);

/// The number that these bits stand for.
double half_value(std::uint16_t bits);

}  // namespace attn
