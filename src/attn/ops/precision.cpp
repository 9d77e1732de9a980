#include "attn/ops/precision.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace attn {

namespace {

/// What a format is made of.
struct Format {
  int digits;             ///< binary digits of a number, the leading 1 included
  int largest_exponent;   ///< numbers end below 2^(largest_exponent + 1)
  int smallest_exponent;  ///< the smallest number above 0 is 2^smallest_exponent
};

const Format& format_of(Dtype dtype) {
  static constexpr Format formats[] = {{53, 1023, -1074}, {24, 127, -149}, {11, 15, -24}, {8, 127, -133}};
  return formats[static_cast<int>(dtype)];
}

constexpr int fraction_bits = 10, smallest_normal_exponent = -14;
constexpr unsigned sign_bit = 0x8000, infinity = 0x7C00, quiet_nan = 0x7E00, fraction_mask = 0x03FF;
constexpr double first_beyond = 65520.0;  // halfway from the largest half to 2^16

}  // namespace

/// Numbers below the smallest normal one have fewer digits.
double round_to(Dtype dtype, double x) {
  if (dtype == Dtype::float32) return static_cast<double>(static_cast<float>(x));
  const bool is_half = dtype == Dtype::float16 || dtype == Dtype::bfloat16;
  if (!is_half || x == 0.0 || !std::isfinite(x)) return x;
  const auto& [digits, largest_exponent, smallest_exponent] = format_of(dtype);
  const int step = std::max(std::ilogb(x) + 1 - digits, smallest_exponent);
  const double rounded = std::ldexp(std::nearbyint(std::ldexp(x, -step)), step);
  const bool is_beyond = rounded != 0.0 && std::ilogb(rounded) > largest_exponent;
  return is_beyond ? std::copysign(std::numeric_limits<double>::infinity(), x) : rounded;
}

Tensor<2> round_to(Dtype dtype, Tensor<2> x) {
  for (double& element : x) element = round_to(dtype, element);
  return x;
}

double largest_number(Dtype dtype) {
  const auto& format = format_of(dtype);
  return std::ldexp(2.0 - std::ldexp(1.0, 1 - format.digits), format.largest_exponent);
}

double smallest_normal(Dtype dtype) {
  const auto& format = format_of(dtype);
  return std::ldexp(1.0, format.smallest_exponent + format.digits - 1);
}

/// Half of float64's smallest number is no number; the smallest itself stands for it.
double largest_rounding_error(Dtype dtype, double x) {
  const auto& format = format_of(dtype);
  const double smallest = std::ldexp(1.0, format.smallest_exponent);
  return std::max(std::ldexp(std::abs(x), -format.digits), smallest / 2.0 > 0.0 ? smallest / 2.0 : smallest);
}

/// Rounding goes to infinity from half a step above the largest number on: 2^(e+1) (1 − 2^−(digits+1)), e the
/// largest exponent. In float64 that is no number itself; its logarithm is.
double exp_overflows_above(Dtype dtype) {
  const auto& format = format_of(dtype);
  return (format.largest_exponent + 1) * std::numbers::ln2 + std::log1p(-std::ldexp(1.0, -format.digits - 1));
}

/// Rounding goes to 0 up to half the smallest number.
double exp_vanishes_below(Dtype dtype) {
  return (format_of(dtype).smallest_exponent - 1) * std::numbers::ln2;
}

std::uint16_t half_bits(double x) {
  const unsigned sign = std::signbit(x) ? sign_bit : 0;
  const double magnitude = std::abs(x);
  if (std::isnan(x)) return static_cast<std::uint16_t>(sign | quiet_nan);
  if (magnitude >= first_beyond) return static_cast<std::uint16_t>(sign | infinity);

  // Counted in steps of 2^(exponent − 10) there are 1024 to 2048 of them, fewer for a subnormal. Exponent and
  // fraction lie side by side, so the bits are that count plus 1024 for each exponent above the smallest:
  // where rounding fills up the fraction, the carry goes into the exponent by itself.
  const int exponent =
      std::max(magnitude == 0.0 ? smallest_normal_exponent : std::ilogb(magnitude), smallest_normal_exponent);
  const auto steps = static_cast<unsigned>(std::nearbyint(std::ldexp(magnitude, fraction_bits - exponent)));
  const auto above_smallest = static_cast<unsigned>(exponent - smallest_normal_exponent);
  return static_cast<std::uint16_t>(sign | ((above_smallest << fraction_bits) + steps));
}

double half_value(std::uint16_t bits) {
  const bool is_negative = (bits & sign_bit) != 0;
  const int exponent = (bits & infinity) >> fraction_bits, fraction = bits & fraction_mask;
  double magnitude = std::ldexp(exponent == 0 ? fraction : fraction + 1024, std::max(exponent, 1) - 25);
  if (exponent == 31)
    magnitude =
        fraction == 0 ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
  return std::copysign(magnitude, is_negative ? -1.0 : 1.0);
}

}  // namespace attn
