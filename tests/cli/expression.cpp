#include "tests/cli/expression.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <stdexcept>

namespace {

class Parser {
 public:
  explicit Parser(const std::string& text) : text_(text) {}

  Evaluated whole() {
    const double value = sum();
    skip_spaces();
    if (at_ != text_.size()) fail();
    return {value, numbers_};
  }

 private:
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
    double value = factor();
    for (;;) {
      if (take("·"))
        value *= factor();
      else if (take("/"))
        value /= factor();
      else
        return value;
    }
  }

  double factor() {
    if (take("(")) {
      const double value = sum();
      require(")");
      return value;
    }
    for (const auto* name : {"exp", "√", "tanh", "log", "erf", "sin", "cos", "max", "min"})
      if (take(name)) return call(name);
    return number();
  }

  double call(const std::string& name) {
    if (name == "√" && !next_is("(")) return std::sqrt(number());
    require("(");
    const double x = sum();
    const double y = take(",") ? sum() : x;
    require(")");
    if (name == "exp") return std::exp(x);
    if (name == "√") return std::sqrt(x);
    if (name == "tanh") return std::tanh(x);
    if (name == "log") return std::log(x);
    if (name == "erf") return std::erf(x);
    if (name == "sin") return std::sin(x);
    if (name == "cos") return std::cos(x);
    return name == "max" ? std::max(x, y) : std::min(x, y);
  }

  double number() {
    std::string digits = take("−") ? "-" : "";
    while (at_ < text_.size()) {
      if (text_.compare(at_, 3, "−") == 0 && !digits.empty() && digits.back() == 'e') {
        digits += '-';
        at_ += 3;
      } else if (std::isdigit(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '.' ||
                 text_[at_] == 'e' || (text_[at_] == '+' && !digits.empty() && digits.back() == 'e')) {
        digits += text_[at_++];
      } else {
        break;
      }
    }
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
