#pragma once

#include <optional>
#include <string_view>

namespace attn {

/// The finite number that the whole text is, in decimal digits with or without an exponent; none for anything
/// else and for what is too large or too small for a double.
std::optional<double> parse_number(std::string_view text);

}  // namespace attn
