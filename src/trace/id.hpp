#pragma once

#include <string_view>

namespace attn {

/// Whether a text can be the id of an event: letters and digits of ASCII, and _ . / = -
bool is_valid_id(std::string_view id);

}  // namespace attn
