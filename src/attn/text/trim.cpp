#include "attn/text/trim.hpp"

namespace attn {

std::string_view trimmed(std::string_view text, std::string_view characters) {
  const auto start = text.find_first_not_of(characters);
  if (start == text.npos) return {};
  return text.substr(start, text.find_last_not_of(characters) + 1 - start);
}

}  // namespace attn
