#pragma once

#include <string_view>

namespace attn {

/// The text without those characters at its ends, as a part of it.
std::string_view trimmed(std::string_view text, std::string_view characters = " \t\r\n");

}  // namespace attn
