#include "attn/tensor.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

namespace attn {

namespace {

/// x rounded to so many binary digits, the leading 1 included, of which numbers below 2^smallest_exponent
/// have fewer; infinity beyond the largest number.
double round_to(double x, int digits, int smallest_exponent, double largest) {
  if (x == 0.0 || !std::isfinite(x)) return x;
  const int exponent = std::max(std::ilogb(x), smallest_exponent);
  const double rounded =
      std::ldexp(std::nearbyint(std::ldexp(x, digits - 1 - exponent)), exponent + 1 - digits);
  return std::abs(rounded) > largest ? std::copysign(std::numeric_limits<double>::infinity(), x) : rounded;
}

}  // namespace

std::string_view name_of(Dtype dtype) {
  constexpr std::string_view names[] = {"float64", "float32", "float16", "bfloat16", "int64", "bool"};
  return names[static_cast<std::size_t>(dtype)];
}

std::size_t item_size(Dtype dtype) {
  constexpr std::size_t sizes[] = {8, 4, 2, 2, 8, 1};
  return sizes[static_cast<std::size_t>(dtype)];
}

bool is_floating(Dtype dtype) {
  return dtype != Dtype::int64 && dtype != Dtype::boolean;
}

double round_to(Dtype dtype, double x) {
  switch (dtype) {
    case Dtype::float32:
      return static_cast<double>(static_cast<float>(x));
    case Dtype::float16:
      return round_to(x, 11, -14, 65504.0);
    case Dtype::bfloat16:
      return round_to(x, 8, -126, 0x1.FEp127);
    default:
      return x;
  }
}

std::size_t element_count(const Shape& shape) {
  return std::accumulate(shape.begin(), shape.end(), std::size_t{1}, std::multiplies<>());
}

double TensorView::at(std::size_t offset) const {
  switch (dtype) {
    case Dtype::int64:
      return static_cast<double>(static_cast<const std::int64_t*>(data)[offset]);
    case Dtype::boolean:
      return static_cast<const bool*>(data)[offset] ? 1.0 : 0.0;
    default:
      return static_cast<const double*>(data)[offset];
  }
}

std::string to_string(const Shape& shape) {
  return shape.empty() ? "scalar" : fmt::format("{}", fmt::join(shape, "×"));
}

}  // namespace attn
