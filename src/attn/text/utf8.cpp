#include "attn/text/utf8.hpp"

#include <fmt/format.h>

#include <optional>

#include "attn/error.hpp"

namespace attn {

namespace {

/// A character and how many bytes it takes.
struct Character {
  char32_t code_point;
  std::size_t length;
};

/// The character that begins at `offset`, where it is well-formed: no byte missing, none too many, no
/// surrogate.
std::optional<Character> character_at(std::string_view text, std::size_t offset) {
  const auto byte = [&](std::size_t i) {
    return offset + i < text.size() ? static_cast<unsigned char>(text[offset + i]) : 0U;
  };
  const char32_t first = byte(0);
  if (first < 0x80) return Character{first, 1};
  if (first < 0xC2 || first > 0xF4) return std::nullopt;

  const std::size_t length = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  char32_t code_point = first & (0x7FU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0U) != 0x80U) return std::nullopt;
    code_point = code_point << 6 | (byte(i) & 0x3FU);
  }
  constexpr char32_t smallest_of_length[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool is_surrogate = code_point >= 0xD800 && code_point <= 0xDFFF;
  if (code_point < smallest_of_length[length] || code_point > 0x10FFFF || is_surrogate) return std::nullopt;
  return Character{code_point, length};
}

}  // namespace

void require_valid_utf8(std::string_view text, std::string_view what) {
  for (std::size_t offset = 0; offset < text.size();) {
    const auto character = character_at(text, offset);
    if (!character)
      throw Error(fmt::format("{} is not valid UTF-8: byte 0x{:02X} at offset {}; valid: text in UTF-8", what,
                              static_cast<unsigned char>(text[offset]), offset));
    offset += character->length;
  }
}

std::u32string code_points(std::string_view text) {
  std::u32string result;
  for (std::size_t offset = 0; offset < text.size();) {
    const auto character = character_at(text, offset).value_or(Character{U'\uFFFD', 1});
    result += character.code_point;
    offset += character.length;
  }
  return result;
}

}  // namespace attn
