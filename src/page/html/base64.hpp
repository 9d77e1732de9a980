#pragma once

#include <string>
#include <string_view>

namespace attn::html {

/// Bytes in base 64 (RFC 4648).
std::string base64(std::string_view bytes);

/// Bytes as two hexadecimal digits each, in base 64.
std::string base64_of_hex(std::string_view hex);

}  // namespace attn::html
