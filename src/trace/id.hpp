#pragma once

#include <algorithm>
#include <string_view>

namespace attn {

/// Whether a text can be the id of an event: letters and digits of ASCII, and _ . / = -
inline bool is_valid_id(std::string_view id) {
  const auto allowed = [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
           std::string_view("_./=-").find(c) != std::string_view::npos;
  };
  return !id.empty() && std::all_of(id.begin(), id.end(), allowed);
}

/// What a name in somebody's file has to be, as messages say it.
inline constexpr std::string_view valid_name = "a name of UTF-8 without control characters";

/// Whether a text can be the name of a tensor in somebody's file, which any line of output may have in it:
/// UTF-8 that is not empty, without control characters.
bool is_valid_name(std::string_view name);

}  // namespace attn
