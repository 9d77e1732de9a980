#include "page/worksheet/written.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "trace/entry.hpp"
#include "trace/file.hpp"
#include "trace/number.hpp"

namespace attn {

namespace {

constexpr double largest_denominator = 9999.0;
constexpr double half_a_unit = 0.55;  // of the last digit, and more where a rounded number was rounded again
constexpr double rounding = 1e-11;    // of computed numbers that are fractions

/// The signs that people write, as those that a keyboard has.
std::string with_signs_of_keyboard(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 8> signs = {
      {{"−", "-"}, {"–", "-"}, {"·", "*"}, {"×", "*"}, {"÷", "/"}, {"√", "sqrt"}, {"∞", "inf"}, {",", "."}}};
  std::string result;
  while (!text.empty()) {
    const auto sign = std::find_if(signs.begin(), signs.end(),
                                   [&](const auto& pair) { return text.starts_with(pair.first); });
    result += sign == signs.end() ? text.substr(0, 1) : sign->second;
    text.remove_prefix(sign == signs.end() ? 1 : sign->first.size());
  }
  return result;
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// Evaluates an expression, in which one of the decimals may be raised by its slack.
class Arithmetic {
 public:
  explicit Arithmetic(std::string_view text, std::size_t raised = std::string_view::npos)
      : rest_(text), raised_(raised) {}

  std::optional<double> value() {
    const double value = sum();
    skip_spaces();
    if (!is_readable_ || !rest_.empty() || std::isnan(value)) return std::nullopt;
    return value;
  }

  /// Of the decimals in the order in which they stand.
  const std::vector<double>& slacks() const { return slacks_; }

 private:
  static constexpr int deepest = 50;

  void skip_spaces() { rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t"), rest_.size())); }

  bool take(std::string_view token) {
    skip_spaces();
    if (!rest_.starts_with(token)) return false;
    rest_.remove_prefix(token.size());
    return true;
  }

  double refuse_it() {
    is_readable_ = false;
    return 0.0;
  }

  double sum() {
    double value = product();
    while (is_readable_) {
      if (take("+"))
        value += product();
      else if (take("-"))
        value -= product();
      else
        break;
    }
    return value;
  }

  double product() {
    double value = signed_power();
    while (is_readable_) {
      if (take("*"))
        value *= signed_power();
      else if (take("/"))
        value /= signed_power();
      else
        break;
    }
    return value;
  }

  double signed_power() {
    if (++depth_ > deepest) return refuse_it();
    double value = 0.0;
    if (take("-")) {
      value = -signed_power();
    } else {
      take("+");
      value = operand();
      if (take("^")) value = std::pow(value, signed_power());
    }
    --depth_;
    return value;
  }

  double operand() {
    if (take("sqrt")) return std::sqrt(operand());
    if (take("exp")) return std::exp(operand());
    if (take("tanh")) return std::tanh(operand());
    if (take("Infinity") || take("infinity") || take("inf")) return std::numeric_limits<double>::infinity();
    if (!take("(")) return number();
    if (++depth_ > deepest) return refuse_it();
    const double value = sum();
    --depth_;
    return take(")") ? value : refuse_it();
  }

  std::string_view digits() {
    const auto count =
        static_cast<std::size_t>(std::find_if_not(rest_.begin(), rest_.end(), is_digit) - rest_.begin());
    const auto found = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return found;
  }

  double number() {
    skip_spaces();
    const auto start = rest_;
    const auto whole = digits();
    const bool has_point = rest_.starts_with('.');
    if (has_point) rest_.remove_prefix(1);
    const auto after_point = has_point ? digits() : std::string_view();
    if (whole.empty() && after_point.empty()) return refuse_it();
    const auto exponent = power_of_ten();
    const auto value = number_in(start.substr(0, start.size() - rest_.size()));
    if (!value) return refuse_it();
    if (!has_point && exponent >= 0) return *value;
    slacks_.push_back(half_a_unit * std::pow(10.0, exponent - static_cast<int>(after_point.size())));
    return *value + (slacks_.size() - 1 == raised_ ? slacks_.back() : 0.0);
  }

  /// The −3 of 1e-3; 0 where there is none.
  int power_of_ten() {
    const auto before = rest_;
    if (!rest_.starts_with('e') && !rest_.starts_with('E')) return 0;
    rest_.remove_prefix(1);
    const bool is_negative = rest_.starts_with('-');
    if (is_negative || rest_.starts_with('+')) rest_.remove_prefix(1);
    const auto exponent = digits();
    if (exponent.empty() || exponent.size() > 3) {
      rest_ = before;
      return 0;
    }
    const int size = std::stoi(std::string(exponent));
    return is_negative ? -size : size;
  }

  std::string_view rest_;
  std::size_t raised_;
  std::vector<double> slacks_;
  bool is_readable_ = true;
  int depth_ = 0;
};

bool is_blank(std::string_view text) {
  return text.find_first_not_of(" \t_?") == std::string_view::npos;
}

}  // namespace

std::optional<Written> written_number(std::string_view text) {
  const auto expression = with_signs_of_keyboard(text);
  Arithmetic plain(expression);
  const auto value = plain.value();
  if (!value) return std::nullopt;
  Written written{.value = *value};
  for (std::size_t i = 0; i < plain.slacks().size(); ++i)
    written.slack += std::abs(Arithmetic(expression, i).value().value_or(*value) - *value);
  written.is_whole = expression.find_first_not_of("+-0123456789 ") == std::string::npos;
  return written;
}

std::vector<std::optional<Written>> written_numbers(const std::vector<std::string>& texts,
                                                    std::string_view place) {
  std::vector<std::optional<Written>> numbers;
  double largest_slack = 0.0;
  for (const auto& text : texts) {
    numbers.push_back(is_blank(text) ? std::nullopt : written_number(text));
    if (!numbers.back() && !is_blank(text))
      refuse(place, fmt::format("{} is no number", in_message(text)),
             "a whole number, a decimal, a fraction such as 3/7, or sqrt(2)/2");
    if (numbers.back()) largest_slack = std::max(largest_slack, numbers.back()->slack);
  }
  for (auto& number : numbers)
    if (number && number->is_whole) number->slack = largest_slack;
  return numbers;
}

std::optional<std::string> as_fraction(double number) {
  if (!std::isfinite(number) || std::abs(number) > 1e6) return std::nullopt;
  double before_numerator = 0.0, numerator = 1.0, before_denominator = 1.0, denominator = 0.0;
  for (double rest = std::abs(number);; rest = 1.0 / (rest - std::floor(rest))) {
    before_numerator = std::exchange(numerator, std::floor(rest + rounding) * numerator + before_numerator);
    before_denominator =
        std::exchange(denominator, std::floor(rest + rounding) * denominator + before_denominator);
    if (denominator > largest_denominator) return std::nullopt;
    if (std::abs(numerator / denominator - std::abs(number)) <= rounding * (1.0 + std::abs(number))) break;
  }
  const auto* sign = number < 0.0 && numerator > 0.0 ? "-" : "";
  return denominator == 1.0 ? fmt::format("{}{:.0f}", sign, numerator)
                            : fmt::format("{}{:.0f}/{:.0f}", sign, numerator, denominator);
}

namespace {

/// "1.5", "-inf": in full, where four digits after the point are enough for that.
std::optional<std::string> as_short_decimal(double number) {
  if (!std::isfinite(number)) return number < 0.0 ? "-inf" : "inf";
  const double scaled = std::round(number * 1e4);
  if (std::abs(number * 1e4 - scaled) > 1e-8) return std::nullopt;
  auto text = fmt::format("{:.4f}", scaled == 0.0 ? 0.0 : scaled / 1e4);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

}  // namespace

std::optional<std::string> written_in_full(double number, bool in_fractions) {
  return in_fractions && std::isfinite(number) ? as_fraction(number) : as_short_decimal(number);
}

std::vector<std::string> as_written(const std::vector<double>& numbers, bool in_fractions) {
  std::vector<std::string> texts;
  for (const double number : numbers) {
    const auto text = written_in_full(number, in_fractions);
    if (!text) break;
    texts.push_back(*text);
  }
  if (texts.size() == numbers.size()) return texts;
  texts.clear();
  for (const double number : numbers) {
    const bool rounds_to_zero = std::abs(number) < 5e-5;
    texts.push_back(std::isfinite(number) ? fmt::format("{:.4f}", rounds_to_zero ? 0.0 : number)
                                          : *as_short_decimal(number));
  }
  return texts;
}

}  // namespace attn
