#include "trace/diff/tolerance.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace attn {

bool Tolerance::accepts(double a, double b) const {
  if (a == b || (std::isnan(a) && std::isnan(b))) return true;
  const double distance = std::abs(a - b);
  return allows(std::isnan(distance) ? std::numeric_limits<double>::infinity() : distance, b);
}

bool Tolerance::allows(double distance, double b) const {
  return std::isfinite(distance) && distance <= absolute + relative * std::abs(b);
}

Tolerance default_tolerance(std::string_view dtype) {
  if (dtype == "float64") return {1e-12, 1e-10};
  if (dtype == "float32") return {1e-6, 1e-5};
  if (dtype == "float16") return {1e-3, 1e-3};
  if (dtype == "bfloat16") return {1e-2, 1e-2};
  return {};
}

Tolerance default_tolerance(std::string_view dtype_a, std::string_view dtype_b) {
  const auto a = default_tolerance(dtype_a), b = default_tolerance(dtype_b);
  return {std::max(a.absolute, b.absolute), std::max(a.relative, b.relative)};
}

}  // namespace attn
