#pragma once

#include <cstdint>
#include <string_view>

namespace attn {

/// The checksum CRC-32 of zlib, gzip and PNG, as Python's `zlib.crc32(text.encode())` gives it. It goes on
/// from that of the bytes before.
std::uint32_t crc32(std::string_view bytes, std::uint32_t before = 0);

}  // namespace attn
