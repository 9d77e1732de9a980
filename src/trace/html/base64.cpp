#include "trace/html/base64.hpp"

#include <cstdint>

namespace attn::html {

std::string base64_of_hex(std::string_view hex) {
  constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  constexpr std::string_view hex_digits = "0123456789abcdef";
  std::string text;
  std::uint32_t bits = 0;
  int bit_count = 0;
  for (const char c : hex) {
    bits = bits << 4 | static_cast<std::uint32_t>(hex_digits.find(c));
    bit_count += 4;
    if (bit_count < 6) continue;
    bit_count -= 6;
    text += digits[bits >> bit_count & 63];
  }
  if (bit_count > 0) text += digits[bits << (6 - bit_count) & 63];
  while (text.size() % 4 != 0) text += '=';
  return text;
}

}  // namespace attn::html
