#include "attn/text/printable.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace attn {

namespace {

/// Bytes of the control character, line separator or mark of direction that a text begins with; 0 for others.
std::size_t control_length(std::string_view text) {
  const std::pair<std::string_view, std::string_view> ranges[] = {{{"\0", 1}, "\x1F"},
                                                                  {"\x7F", "\x7F"},
                                                                  {"\u0080", "\u009F"},
                                                                  {"\u2028", "\u202E"},
                                                                  {"\u2066", "\u2069"}};
  for (const auto& [first, last] : ranges) {
    const auto start = text.substr(0, first.size());
    if (start.size() == first.size() && start >= first && start <= last) return first.size();
  }
  return 0;
}

}  // namespace

std::string printable(std::string_view text) {
  const auto is_visible_ascii = [](char c) { return c >= ' ' && c <= '~'; };
  std::string result;
  while (!text.empty()) {
    const std::size_t control = is_visible_ascii(text.front()) ? 0 : control_length(text);
    if (control == 0) {
      result += text.front();
    } else {
      const bool is_ascii = static_cast<unsigned char>(text.front()) < 0x20;
      result += is_ascii ? std::string("\xE2\x90") + static_cast<char>(0x80 + text.front()) : "�";
    }
    text.remove_prefix(std::max<std::size_t>(control, 1));
  }
  return result;
}

std::string without_colours(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text.substr(i, 2) == "\x1b[")
      i = std::min(text.find_first_not_of("0123456789;", i + 2), text.size());
    else if (text[i] != '\r')
      plain += text[i];
  }
  return plain;
}

}  // namespace attn
