#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace attn {

/// The text without those characters at its ends, as a part of it.
std::string_view trimmed(std::string_view text, std::string_view characters = " \t\r\n");

/// What stands between the separators: one part more than there are of these.
std::vector<std::string> split(std::string_view text, char separator);

}  // namespace attn
