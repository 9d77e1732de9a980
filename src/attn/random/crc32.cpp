#include "attn/random/crc32.hpp"

namespace attn {

std::uint32_t crc32(std::string_view bytes, std::uint32_t before) {
  constexpr std::uint32_t polynomial = 0xedb88320u;
  std::uint32_t remainder = ~before;
  for (const char byte : bytes) {
    remainder ^= static_cast<unsigned char>(byte);
    for (int bit = 0; bit < 8; ++bit) remainder = remainder >> 1 ^ (remainder % 2 == 1 ? polynomial : 0u);
  }
  return ~remainder;
}

}  // namespace attn
