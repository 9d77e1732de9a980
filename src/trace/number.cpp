#include "trace/number.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

namespace attn {

namespace {

double parsed(const std::string& text) {
  return std::strtod(text.c_str(), nullptr);
}

/// Whether a text such as "0.0003" is longer than "3e-04".
bool has_long_zeros(std::string_view text) {
  return text.size() == (text[0] == '-' ? 7 : 6) && text.substr(text.size() - 6, 5) == "0.000";
}

/// A whole number as it is written in full or, where that is longer, with an exponent.
std::string shortest_whole(double x, std::string_view text) {
  const auto end = text.find('e');
  std::string digits;
  for (const char c : text.substr(0, end))
    if (c >= '0' && c <= '9') digits += c;
  const auto exponent =
      end == text.npos ? digits.size() - 1 : std::strtoul(text.data() + end + 1, nullptr, 10);
  digits.erase(digits.find_last_not_of('0') + 1);
  const auto zeros = exponent + 1 - digits.size();
  if (zeros <= (digits.size() == 1 ? 4 : 5)) return fmt::format("{:.0f}", x);
  if (digits.size() > 1) digits.insert(1, ".");
  return fmt::format("{}{}e+{:02}", x < 0 ? "-" : "", digits, exponent);
}

}  // namespace

bool is_near(double a, double b, double tolerance) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return a == b || std::abs(a - b) <= tolerance;
}

double difference(double a, double b) {
  if (is_near(a, b, 0.0)) return 0.0;
  const double size = std::abs(a - b);
  return std::isnan(size) ? std::numeric_limits<double>::infinity() : size;
}

bool are_equal(const std::vector<double>& a, const std::vector<double>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](double x, double y) { return is_near(x, y, 0.0); });
}

double with_fewest_digits(double x, Dtype dtype) {
  if (!std::isfinite(x) || x == 0.0) return x;
  if (dtype == Dtype::float32) return parsed(fmt::format("{}", static_cast<float>(x)));
  if (dtype != Dtype::float16 && dtype != Dtype::bfloat16) return x;
  for (int digits = 1;; ++digits)
    if (const double few = parsed(fmt::format("{:.{}e}", x, digits - 1)); round_to(dtype, few) == x)
      return few;
}

std::string shortest(double x, Dtype dtype) {
  constexpr double may_end_in_zeros = 1e5;
  const auto text = dtype == Dtype::float32 ? fmt::format("{}", static_cast<float>(x))
                                            : fmt::format("{}", with_fewest_digits(x, dtype));
  if (std::abs(x) >= may_end_in_zeros && std::trunc(x) == x) return shortest_whole(x, text);
  if (has_long_zeros(text)) return fmt::format("{}{}e-04", x < 0 ? "-" : "", text.back());
  return text;
}

}  // namespace attn
