#include "attn/text/trim.hpp"

#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <string>

namespace attn {

std::string_view trimmed(std::string_view text, std::string_view characters) {
  const auto start = text.find_first_not_of(characters);
  if (start == text.npos) return {};
  return text.substr(start, text.find_last_not_of(characters) + 1 - start);
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts(1);
  for (const char c : text)
    if (c == separator)
      parts.emplace_back();
    else
      parts.back() += c;
  return parts;
}

std::optional<double> parse_number(std::string_view text) {
  const bool has_only_digits_and_signs = text.find_first_not_of("0123456789+-.eE") == text.npos;
  if (text.empty() || text.front() == '+' || !has_only_digits_and_signs) return std::nullopt;
  const std::string terminated(text);
  char* end = nullptr;
  errno = 0;
  const double number = std::strtod(terminated.c_str(), &end);
  const bool is_whole = end == terminated.c_str() + terminated.size();
  const bool is_too_small = errno == ERANGE && number == 0.0;
  return is_whole && !is_too_small && std::isfinite(number) ? std::optional(number) : std::nullopt;
}

std::vector<std::string> shell_words(std::string_view command) {
  std::vector<std::string> words;
  char quote = '\0';
  bool is_open = false;
  for (std::size_t i = 0; i < command.size(); ++i) {
    const char c = command[i];
    if (c == ' ' && quote == '\0') {
      is_open = false;
      continue;
    }
    if (!is_open) words.emplace_back();
    is_open = true;
    if (quote == '\0' ? c == '"' || c == '\'' : c == quote)
      quote = quote == '\0' ? c : '\0';
    else if (c == '\\' && quote != '\'' && i + 1 < command.size())
      words.back() += command[++i];
    else
      words.back() += c;
  }
  return words;
}

}  // namespace attn
