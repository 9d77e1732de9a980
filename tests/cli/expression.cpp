#include "tests/cli/expression.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <stdexcept>

namespace {

/// The nearest number of so many binary digits with no smaller exponent; infinite above the largest.
double rounded(double x, int digits, int least_exponent, double largest) {
  if (x == 0.0 || !std::isfinite(x)) return x;
  const double step = std::ldexp(1.0, std::max(std::ilogb(x), least_exponent) + 1 - digits);
  const double nearest = std::nearbyint(x / step) * step;
  return std::abs(nearest) > largest ? std::copysign(INFINITY, x) : nearest;
}

class Parser {
 public:
  explicit Parser(const std::string& text) : text_(text) {}

  Evaluated whole() {
    const double value = comparison();
    skip_spaces();
    if (at_ != text_.size()) fail();
    return {value, numbers_};
  }

 private:
  double comparison() {
    const double x = sum();
    if (take("<")) return x < sum() ? 1.0 : 0.0;
    if (take("≤")) return x <= sum() ? 1.0 : 0.0;
    return x;
  }

  double sum() {
    double value = product();
    for (;;) {
      if (take("+"))
        value += product();
      else if (take("−"))
        value -= product();
      else
        return value;
    }
  }

  double product() {
    double value = power();
    for (;;) {
      if (take("·"))
        value *= power();
      else if (take("/"))
        value /= power();
      else
        return value;
    }
  }

  double power() {
    const double value = factor();
    if (const auto digits = raised_digits(); !digits.empty()) return std::pow(value, std::stod(digits));
    return take("^") ? std::pow(value, factor()) : value;
  }

  /// "12" for "¹²".
  std::string raised_digits() {
    const std::vector<std::string> all = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
    for (std::size_t digit = 0; digit < all.size(); ++digit)
      if (take(all[digit])) return std::to_string(digit) + raised_digits();
    return "";
  }

  double factor() {
    if (take("(")) {
      const double value = comparison();
      require(")");
      return value;
    }
    if (take("−")) return -factor();
    for (const auto* name : {"exp", "√", "tanh", "log", "erf", "sin", "cos", "floor", "max", "min", "float32",
                             "float16", "bfloat16"})
      if (take(name)) return call(name);
    return number();
  }

  double call(const std::string& name) {
    if (name == "√" && !next_is("(")) return std::sqrt(number());
    require("(");
    std::vector<double> x = {comparison()};
    while (take(",")) x.push_back(comparison());
    require(")");
    if (name == "max") return *std::max_element(x.begin(), x.end());
    if (name == "min") return *std::min_element(x.begin(), x.end());
    if (x.size() != 1) fail();
    if (name == "exp") return std::exp(x[0]);
    if (name == "√") return std::sqrt(x[0]);
    if (name == "tanh") return std::tanh(x[0]);
    if (name == "log") return std::log(x[0]);
    if (name == "erf") return std::erf(x[0]);
    if (name == "sin") return std::sin(x[0]);
    if (name == "cos") return std::cos(x[0]);
    if (name == "float32") return static_cast<double>(static_cast<float>(x[0]));
    if (name == "float16") return rounded(x[0], 11, -14, 65504.0);
    if (name == "bfloat16") return rounded(x[0], 8, -126, 3.38953138925153547e38);
    return std::floor(x[0]);
  }

  double number() {
    std::string digits = take("-") ? "-" : "";
    const auto is_digit = [&](char c) {
      const bool is_sign = (c == '+' || c == '-') && !digits.empty() && digits.back() == 'e';
      return std::isdigit(static_cast<unsigned char>(c)) != 0 || c == '.' || c == 'e' || is_sign;
    };
    while (at_ < text_.size() && is_digit(text_[at_])) digits += text_[at_++];
    char* end = nullptr;
    const double value = std::strtod(digits.c_str(), &end);
    if (digits.empty() || *end != '\0') fail();
    numbers_.push_back(value);
    return value;
  }

  void skip_spaces() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }

  bool next_is(const std::string& sign) const { return text_.compare(at_, sign.size(), sign) == 0; }

  bool take(const std::string& sign) {
    skip_spaces();
    if (text_.compare(at_, sign.size(), sign) != 0) return false;
    at_ += sign.size();
    return true;
  }

  void require(const std::string& sign) {
    if (!take(sign)) fail();
  }

  [[noreturn]] void fail() const {
    throw std::runtime_error("no expression: " + text_.substr(at_) + " in " + text_);
  }

  const std::string& text_;
  std::size_t at_ = 0;
  std::vector<double> numbers_{};
};

}  // namespace

Evaluated evaluate(const std::string& expression) {
  return Parser(expression).whole();
}
