#pragma once

#include <string>
#include <string_view>

namespace attn {

/// The text with signs in place of the characters that would move the cursor or reorder a line.
std::string printable(std::string_view text);

}  // namespace attn
