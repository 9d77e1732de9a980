#include "attn/text/trim.hpp"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>

namespace attn {

std::string_view trimmed(std::string_view text, std::string_view characters) {
  const auto start = text.find_first_not_of(characters);
  if (start == text.npos) return {};
  return text.substr(start, text.find_last_not_of(characters) + 1 - start);
}

std::vector<std::string_view> pieces_of(std::string_view text, std::string_view separator) {
  std::vector<std::string_view> parts;
  for (auto end = text.find(separator); end != text.npos; end = text.find(separator)) {
    parts.push_back(text.substr(0, end));
    text.remove_prefix(end + separator.size());
  }
  parts.push_back(text);
  return parts;
}

std::vector<std::string> split(std::string_view text, char separator) {
  const auto parts = pieces_of(text, {&separator, 1});
  return {parts.begin(), parts.end()};
}

std::vector<std::string_view> words_in(std::string_view line) {
  constexpr std::string_view blanks = " \t";
  std::vector<std::string_view> words;
  for (auto start = line.find_first_not_of(blanks); start != line.npos;) {
    const auto end = std::min(line.find_first_of(blanks, start), line.size());
    words.push_back(line.substr(start, end - start));
    start = line.find_first_not_of(blanks, end);
  }
  return words;
}

std::optional<double> number_in(std::string_view word) {
  if (word.empty() || word.find_first_of("-.0123456789iInN") != 0 || word.find_first_of("xX") != word.npos)
    return std::nullopt;
  const std::string text(word);
  char* end = nullptr;
  errno = 0;
  const double number = std::strtod(text.c_str(), &end);
  const bool is_out_of_range = errno == ERANGE && (number == 0.0 || std::isinf(number));
  if (end != text.data() + text.size() || is_out_of_range) return std::nullopt;
  return number;
}

std::optional<double> parse_number(std::string_view text) {
  const bool has_only_digits_and_signs = text.find_first_not_of("0123456789+-.eE") == text.npos;
  return has_only_digits_and_signs ? number_in(text) : std::nullopt;
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
