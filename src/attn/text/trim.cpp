#include "attn/text/trim.hpp"

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

}  // namespace attn
