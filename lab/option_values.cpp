#include "lab/option_values.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <cmath>
#include <sstream>
#include <utility>

#include "attn/error.hpp"
#include "attn/text/trim.hpp"
#include "trace/file.hpp"

namespace lab {

namespace {

using attn::Error;
using lessons::OptionInfo;

std::string without_spaces(const std::string& text) {
  return std::string(attn::trimmed(text, " "));
}

template <class Number>
std::errc read_number(const std::string& text, Number& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return end == text.data() + text.size() ? error : std::errc::invalid_argument;
}

std::errc read_number(const std::string& text, double& value) {
  const auto number = attn::parse_number(text);
  value = number.value_or(0.0);
  return number ? std::errc() : std::errc::invalid_argument;
}

template <class Number>
Number parse_number(std::string_view flag, const std::string& given, std::string_view valid) {
  Number value{};
  if (read_number(without_spaces(given), value) != std::errc())
    throw Error(fmt::format("--{} {} is out of range or no number; valid: {}", flag,
                            given.empty() ? "\"\"" : given, valid));
  return value;
}

std::size_t parse_count(const OptionInfo& info, const std::string& text) {
  std::size_t value{};
  if (read_number(without_spaces(text), value) == std::errc::result_out_of_range)
    throw Error(fmt::format(
        "--{} {} is too large: even 2^64 numbers need 128 EiB; valid: what fits in memory", info.flag, text));
  return parse_number<std::size_t>(info.flag, text,
                                   fmt::format("a whole number, {} or more", lessons::smallest_count(info)));
}

}  // namespace

int parse_whole(std::string_view flag, const std::string& text, int smallest, int largest) {
  const auto valid = fmt::format("a whole number from {} to {}", smallest, largest);
  const int value = parse_number<int>(flag, text, valid);
  if (value < smallest || value > largest)
    throw Error(fmt::format("--{} {} is out of range; valid: {}", flag, text, valid));
  return value;
}

double parse_tolerance(std::string_view flag, const std::string& text) {
  const auto valid = "a number, 0 or more";
  const double value = parse_number<double>(flag, text, valid);
  if (!(value >= 0.0) || std::isinf(value))
    throw Error(fmt::format("--{} {} is out of range; valid: {}", flag, text, valid));
  return value;
}

std::pair<std::string, std::string> parse_rename(const std::string& text) {
  const auto sign = text.rfind('=');
  auto from = text.substr(0, sign), to = sign == text.npos ? "" : text.substr(sign + 1);
  if (from.empty() || !attn::is_valid_id(to) || from.ends_with('/') != to.ends_with('/'))
    throw Error(
        fmt::format("--rename {}: it names no two ids; valid: --rename attn=weights, or for a group --rename "
                    "att/=attention/",
                    text));
  return {std::move(from), std::move(to)};
}

void assign(const OptionInfo& info, double& field, const std::string& text) {
  field = parse_number<double>(info.flag, text, "a number");
}

void assign(const OptionInfo& info, std::optional<double>& field, const std::string& text) {
  field = parse_number<double>(info.flag, text, "a number");
}

void assign(const OptionInfo& info, std::uint32_t& field, const std::string& text) {
  field = parse_number<std::uint32_t>(info.flag, text, "a whole number from 0 to 4294967295");
}

void assign(const OptionInfo& info, std::optional<std::size_t>& field, const std::string& text) {
  field = parse_count(info, text);
}

void assign(const OptionInfo&, std::string& field, const std::string& text) {
  field = text;
}

void assign(const OptionInfo&, std::optional<std::string>& field, const std::string& text) {
  field = text;
}

void assign(const OptionInfo&, std::vector<std::string>& field, const std::string& text) {
  field.push_back(text);
}

void assign(const OptionInfo& info, std::vector<std::size_t>& field, const std::string& text) {
  for (const auto& item : split(text, ',')) field.push_back(parse_count(info, item));
}

std::string text_of(bool) {
  return "";
}

std::string text_of(double number) {
  return fmt::format("{:g}", number);
}

std::string text_of(std::uint32_t number) {
  return fmt::format("{}", number);
}

std::string text_of(const std::optional<double>& number) {
  return number ? fmt::format("{:g}", *number) : "";
}

std::string text_of(const std::optional<std::size_t>& number) {
  return number ? fmt::format("{}", *number) : "";
}

std::string text_of(const std::string& text) {
  return text;
}

std::string text_of(const std::optional<std::string>& text) {
  return text.value_or("");
}

std::string text_of(const std::vector<std::size_t>& numbers) {
  return fmt::format("{}", fmt::join(numbers, ","));
}

std::string text_of(const std::vector<std::string>& texts) {
  return texts.empty() ? "" : fmt::format("\"{}\"", fmt::join(texts, "\", \""));
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> items;
  std::istringstream stream{std::string(text)};
  for (std::string item; std::getline(stream, item, separator);) items.push_back(without_spaces(item));
  return items;
}

}  // namespace lab
