#pragma once

#include <string>
#include <string_view>

namespace attn {

/// The text with signs in place of the characters that would move the cursor or reorder a line.
std::string printable(std::string_view text);

/// The text without a terminal's colours and without the carriage returns of other systems' line ends.
std::string without_colours(std::string_view text);

}  // namespace attn
