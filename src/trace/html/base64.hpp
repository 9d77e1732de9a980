#pragma once

#include <string>
#include <string_view>

namespace attn::html {

/// Bytes as two hexadecimal digits each, written in base 64 (RFC 4648).
std::string base64_of_hex(std::string_view hex);

}  // namespace attn::html
