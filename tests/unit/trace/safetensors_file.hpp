#pragma once

#include <cstdint>
#include <string>

/// The bytes of a .safetensors file with that header and those elements.
inline std::string safetensors_of(const std::string& header, const std::string& elements) {
  std::string length;
  for (int shift = 0; shift < 64; shift += 8)
    length += static_cast<char>(std::uint64_t{header.size()} >> shift & 0xFF);
  return length + header + elements;
}
