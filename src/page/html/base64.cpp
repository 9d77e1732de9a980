#include "page/html/base64.hpp"

#include <cstdint>

namespace attn::html {

std::string base64(std::string_view bytes) {
  constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  std::uint32_t bits = 0;
  int bit_count = 0;
  for (const char byte : bytes) {
    bits = bits << 8 | static_cast<unsigned char>(byte);
    for (bit_count += 8; bit_count >= 6;) {
      bit_count -= 6;
      text += digits[bits >> bit_count & 63];
    }
  }
  if (bit_count > 0) text += digits[bits << (6 - bit_count) & 63];
  while (text.size() % 4 != 0) text += '=';
  return text;
}

std::string base64_of_hex(std::string_view hex) {
  constexpr std::string_view hex_digits = "0123456789abcdef";
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes += static_cast<char>(hex_digits.find(hex[i]) << 4 | hex_digits.find(hex[i + 1]));
  return base64(bytes);
}

}  // namespace attn::html
