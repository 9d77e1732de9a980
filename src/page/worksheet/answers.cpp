#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <sstream>
#include <string_view>
#include <utility>

#include "attn/text/trim.hpp"
#include "attn/text/utf8.hpp"
#include "page/text/plain.hpp"
#include "page/worksheet/sheet.hpp"
#include "trace/json/strict.hpp"

namespace attn {

namespace {

constexpr double largest_denominator = 9999.0;
constexpr double half_a_unit = 0.55;  // of the last digit, and more where a rounded number was rounded again
constexpr double rounding = 1e-11;    // of computed numbers that are fractions

/// The signs that people write, as those that a keyboard has.
std::string with_signs_of_keyboard(std::string text) {
  const auto signs = words_in("− - – - · * × * ÷ / √ sqrt ∞ inf , .");
  for (std::size_t i = 0; i < signs.size(); i += 2) text = replaced(std::move(text), signs[i], signs[i + 1]);
  return text;
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
    for (;;)
      if (take("+"))
        value += product();
      else if (take("-"))
        value -= product();
      else
        return value;
  }

  double product() {
    double value = signed_power();
    for (;;)
      if (take("*"))
        value *= signed_power();
      else if (take("/"))
        value /= signed_power();
      else
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

  double number() {
    skip_spaces();
    const std::string terminated(rest_);
    char* end = nullptr;
    std::strtod(terminated.c_str(), &end);
    const auto token = rest_.substr(0, static_cast<std::size_t>(end - terminated.c_str()));
    rest_.remove_prefix(token.size());
    const auto value =
        token.find_first_not_of("0123456789.eE+-") == token.npos && token.find_first_of("+-") != 0
            ? number_in(token)
            : std::nullopt;
    if (!value) return refuse_it();
    const auto mantissa = token.substr(0, token.find_first_of("eE"));
    const auto exponent =
        std::atoi(std::string(token.substr(std::min(mantissa.size() + 1, token.size()))).c_str());
    const auto point = std::min(mantissa.find('.'), mantissa.size() - 1);
    if (mantissa[point] != '.' && exponent >= 0) return *value;
    const auto decimals = mantissa[point] == '.' ? static_cast<int>(mantissa.size() - point) - 1 : 0;
    slacks_.push_back(half_a_unit * std::pow(10.0, exponent - decimals));
    return *value + (slacks_.size() - 1 == raised_ ? slacks_.back() : 0.0);
  }

  std::string_view rest_;
  std::size_t raised_;
  std::vector<double> slacks_;
  bool is_readable_ = true;
  int depth_ = 0;
};

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

using Json = nlohmann::ordered_json;

constexpr std::uint64_t largest_sheet = 1 << 20;  // bytes
constexpr std::string_view white_space = " \t\r\n";
constexpr std::string_view of_command = "attnlab worksheet ";
constexpr std::string_view of_name = "Name:";

/// "scores" of the line "1  scores = Q Kᵀ", "T=1/output" of "3  T=1/output: weights · values"; nothing of
/// other lines.
std::string_view step_of_heading(std::string_view line) {
  const auto number = line.find_first_not_of("0123456789");
  if (number == 0 || number == line.npos || !line.substr(number).starts_with("  ")) return {};
  line = trimmed(line.substr(number));
  line = line.substr(0, line.find_first_of(white_space));
  return line.substr(0, line.find(':'));
}

/// What stands between the bars of a row, from its first cell on.
std::vector<std::string> cells_of_row(std::string_view line) {
  auto cells = split(line.substr(0, line.size() - 1), '|');
  cells.erase(cells.begin());
  for (auto& cell : cells) cell = std::string(trimmed(cell, " \t_"));
  return cells;
}

Answers answers_in_text(std::string_view text, const std::string& path) {
  Answers answers;
  std::string step;
  std::istringstream lines{std::string(text.substr(0, text.find('\f')))};
  for (std::string line; std::getline(lines, line);) {
    const auto seen = trimmed(line);
    if (answers.command.empty() && seen.starts_with(of_command)) answers.command = seen;
    if (answers.student.empty() && seen.starts_with(of_name))
      answers.student = trimmed(seen.substr(of_name.size()), " \t_");
    if (const auto heading = step_of_heading(line); !heading.empty()) step = heading;
    if (step.empty() || !seen.ends_with('|')) continue;
    for (auto& cell : cells_of_row(seen)) answers.cells[step].push_back(std::move(cell));
  }
  if (answers.command.empty())
    refuse(path, "it is a worksheet without the command that made it",
           "the line \"attnlab worksheet LESSON --seed N\" below its title");
  return answers;
}

/// Keeps numbers as they are written: 0.30 has a digit more than 0.3.
class JsonAsWritten : public StrictJson<Json> {
 public:
  using StrictJson<Json>::StrictJson;
  bool number_integer(number_integer_t value) override { return add(std::to_string(value)); }
  bool number_unsigned(number_unsigned_t value) override { return add(std::to_string(value)); }
  bool number_float(number_float_t, const string_t& text) override { return add(text); }
};

void add_cells(const Json& value, std::vector<std::string>& cells, const std::string& place) {
  if (value.is_array()) {
    for (const auto& item : value) add_cells(item, cells, place);
  } else if (value.is_null()) {
    cells.emplace_back();
  } else if (value.is_string()) {
    cells.push_back(value.get<std::string>());
  } else {
    refuse(place, "it is neither a number, a text nor null", "[[1, \"3/7\", null], …]");
  }
}

std::optional<Answers> answers_in_json(const std::string& text, const std::string& path) {
  JsonAsWritten builder(path);
  Json::sax_parse(text, &builder);
  const auto document = builder.take();
  if (!document.is_object() || !document.contains("worksheet")) return std::nullopt;
  const auto& command = document["worksheet"];
  if (!command.is_string() || !command.get<std::string>().starts_with(of_command))
    refuse(path, "its \"worksheet\" is not the command that made it",
           "\"attnlab worksheet LESSON --seed N\"");
  Answers answers{.command = command.get<std::string>()};
  if (document.contains("name") && document["name"].is_string())
    answers.student = document["name"].get<std::string>();
  for (const auto& [id, value] : document.items())
    if (id != "worksheet" && id != "name") add_cells(value, answers.cells[id], path + ": " + id);
  return answers;
}

}  // namespace

std::optional<Written> written_number(std::string_view text) {
  const auto expression = with_signs_of_keyboard(std::string(text));
  Arithmetic plain(expression);
  const auto value = plain.value();
  if (!value) return std::nullopt;
  Written written{.value = *value};
  for (std::size_t i = 0; i < plain.slacks().size(); ++i)
    written.slack += std::abs(Arithmetic(expression, i).value().value_or(*value) - *value);
  written.is_whole = expression.find_first_not_of("+-0123456789 ") == std::string::npos;
  return written;
}

std::vector<std::optional<Written>> written_numbers(const std::vector<std::string>& texts) {
  std::vector<std::optional<Written>> numbers;
  double largest_slack = 0.0;
  for (const auto& text : texts) {
    numbers.push_back(written_number(text));
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

std::optional<std::string> written_in_full(double number, bool in_fractions) {
  return in_fractions && std::isfinite(number) ? as_fraction(number) : as_short_decimal(number);
}

std::vector<std::string> as_written(const std::vector<double>& numbers, bool in_fractions) {
  const auto in_full = [&](double number) { return written_in_full(number, in_fractions); };
  const bool are_short = all_of(numbers, [&](double number) { return in_full(number).has_value(); });
  std::vector<std::string> texts;
  for (const double number : numbers) {
    const bool rounds_to_zero = std::abs(number) < 5e-5;
    texts.push_back(are_short || !std::isfinite(number)
                        ? *in_full(number)
                        : fmt::format("{:.4f}", rounds_to_zero ? 0.0 : number));
  }
  return texts;
}

std::optional<Answers> read_answers(const File& file) {
  if (file.bytes().size() > largest_sheet) return std::nullopt;
  auto text = file.bytes();
  constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
  if (text.starts_with(byte_order_mark)) text.erase(0, byte_order_mark.size());
  const auto start = text.find_first_not_of(white_space);
  if (start == text.npos) return std::nullopt;
  if (text.starts_with("<!DOCTYPE html") && text.find("<title>Worksheet: ") != text.npos)
    refuse(file.path(), "it is a worksheet to be printed",
           "the text sheet that its command prints, filled in");
  const bool may_be_json = text[start] == '{' && text.find("\"worksheet\"") != text.npos;
  const bool is_sheet = std::string_view(text).substr(start).starts_with("worksheet ");
  if (!may_be_json && !is_sheet) return std::nullopt;
  require_valid_utf8(text, file.path());
  return is_sheet ? answers_in_text(text, file.path()) : answers_in_json(text, file.path());
}

}  // namespace attn
