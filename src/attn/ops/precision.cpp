#include "attn/ops/precision.hpp"

#include <algorithm>
#include <cmath>
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

}  // namespace

template <std::size_t N>
Tensor<N> round_to(Dtype dtype, const Tensor<N>& x) requires Rank<N, 1, 2> {
  Tensor<N> rounded(x.shape());
  std::transform(x.begin(), x.end(), rounded.begin(),
                 [dtype](double element) { return round_to(dtype, element); });
  return rounded;
}

double largest_number(Dtype dtype) {
  const auto& format = format_of(dtype);
  return std::ldexp(2.0 - std::ldexp(1.0, 1 - format.digits), format.largest_exponent);
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

template Tensor<1> round_to(Dtype, const Tensor<1>&);
template Tensor<2> round_to(Dtype, const Tensor<2>&);

}  // namespace attn
