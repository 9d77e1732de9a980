#include "trace/diff/printed_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <unordered_map>

namespace attn {

namespace {

using Option = std::pair<std::string, ConfigValue>;

constexpr auto npos = std::string_view::npos;
constexpr std::string_view blanks = " \n";

void skip_blanks(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(blanks), text.size()));
}

std::string_view take(std::string_view& text, std::size_t length) {
  const auto taken = text.substr(0, length);
  text.remove_prefix(taken.size());
  return taken;
}

/// Up to and without the first of these characters.
std::string_view take_until(std::string_view& text, std::string_view ends) {
  return take(text, std::min(text.find_first_of(ends), text.size()));
}

/// Whether a quotation mark before this ends a text: options stand two blanks or a line apart, the texts of
/// one option a single blank.
bool follows_text(std::string_view rest) {
  return rest.empty() || rest.starts_with("  ") || rest.starts_with('\n') || rest.starts_with(" \"");
}

/// What stands between quotation marks, in one line.
std::string take_quoted(std::string_view& text) {
  text.remove_prefix(1);
  std::size_t end = text.find('"');
  while (end != npos && !follows_text(text.substr(end + 1))) end = text.find('"', end + 1);
  std::string quoted(take(text, std::min(end, text.size())));
  take(text, 1);
  std::replace(quoted.begin(), quoted.end(), '\n', ' ');
  return quoted;
}

/// A number where that says the same as the word.
template <class T>
std::optional<ConfigValue> as_number(std::string_view word) {
  T number{};
  const auto end = std::from_chars(word.data(), word.data() + word.size(), number).ptr;
  if (end != word.data() + word.size() || !std::isfinite(static_cast<double>(number)) ||
      fmt::format("{}", number) != word)
    return std::nullopt;
  return number;
}

ConfigValue take_value(std::string_view& text) {
  if (!text.starts_with('"')) {
    const auto word = take_until(text, blanks);
    const auto whole = as_number<std::int64_t>(word);
    return whole ? *whole : as_number<double>(word).value_or(std::string(word));
  }
  std::vector<std::string> texts;
  for (; text.starts_with('"'); skip_blanks(text)) texts.push_back(take_quoted(text));
  return texts;
}

Option take_option(std::string_view& text) {
  std::string name(take_until(text, " \n="));
  if (!text.starts_with('=')) return {std::move(name), true};
  text.remove_prefix(1);
  return {std::move(name), take_value(text)};
}

}  // namespace

std::vector<Option> parse_printed_options(std::string_view text) {
  std::vector<Option> options;
  std::unordered_map<std::string, std::size_t> seen;
  for (skip_blanks(text); !text.empty(); skip_blanks(text)) {
    options.push_back(take_option(text));
    auto& name = options.back().first;
    if (const auto count = ++seen[name]; count > 1) name += fmt::format(" ({})", count);
  }
  return options;
}

}  // namespace attn
