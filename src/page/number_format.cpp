#include "page/number_format.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <string_view>

#include "trace/entry.hpp"

namespace attn {

double rounding_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::float32:
      return 1e-5;
    case Dtype::float16:
      return 2e-3;
    case Dtype::bfloat16:
      return 1.6e-2;
    default:
      return 1e-9;
  }
}

namespace {

/// Of the finite elements of a floating-point tensor.
double largest_magnitude(const TensorView& tensor) {
  const std::span elements(static_cast<const double*>(tensor.data), element_count(tensor.shape));
  double largest = 0.0;
  for (const double element : elements)
    if (std::isfinite(element)) largest = std::max(largest, std::abs(element));
  return largest;
}

bool are_all_whole(const TensorView& tensor) {
  for (std::size_t i = 0; i < element_count(tensor.shape); ++i)
    if (std::isfinite(tensor.at(i)) && !is_whole(tensor.at(i), rounding_of(tensor.dtype))) return false;
  return true;
}

std::string without_negative_zero(std::string number) {
  const auto mantissa = std::string_view(number).substr(0, number.find('e'));
  const bool is_zero = mantissa.find_first_not_of("-0.") == std::string_view::npos;
  return is_zero && mantissa.front() == '-' ? number.substr(1) : number;
}

}  // namespace

NumberFormat::NumberFormat(const TensorView& tensor, int precision) : tensor_(tensor), precision_(precision) {
  if (!is_floating(tensor.dtype)) return;
  const double largest = largest_magnitude(tensor);
  const double smallest_fixed = std::min(0.1, std::pow(10.0, 1 - precision));
  scientific_ = largest >= 1e5 || (largest > 0.0 && largest < smallest_fixed);
  if (!scientific_ && are_all_whole(tensor)) precision_ = 0;
}

std::string NumberFormat::operator()(std::size_t offset) const {
  switch (tensor_.dtype) {
    case Dtype::int64:
      return fmt::format("{}", static_cast<const std::int64_t*>(tensor_.data)[offset]);
    case Dtype::boolean:
      return tensor_.at(offset) != 0.0 ? "1" : "·";
    default:
      if (std::isnan(tensor_.at(offset))) return "nan";  // whatever its sign
      return without_negative_zero(scientific_ ? fmt::format("{:.{}e}", tensor_.at(offset), precision_)
                                               : fmt::format("{:.{}f}", tensor_.at(offset), precision_));
  }
}

std::string scalar_text(const TensorView& tensor, int precision) {
  if (tensor.dtype == Dtype::boolean) return tensor.at(0) != 0.0 ? "true" : "false";
  return NumberFormat(tensor, precision)(0);
}

}  // namespace attn
