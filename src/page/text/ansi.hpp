#pragma once

#include <string>
#include <string_view>

namespace attn::ansi {

inline constexpr std::string_view bold = "1";
inline constexpr std::string_view red = "31";
inline constexpr std::string_view green = "32";

/// The text between the escape sequences of a terminal that turn a style on and off again.
inline std::string styled(std::string_view text, std::string_view style) {
  return std::string("\x1b[").append(style).append("m").append(text).append("\x1b[0m");
}

}  // namespace attn::ansi
