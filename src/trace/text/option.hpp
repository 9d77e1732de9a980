#pragma once

#include <string>

#include "trace/event.hpp"

namespace attn {

/// The text, printable, between quotation marks.
std::string quoted(const std::string& text);

/// "d_model=8"; a flag is its name alone. Nothing for what is unset, and nothing for tokens, which stand
/// beside the tensors.
std::string option_text(const std::string& name, const ConfigValue& value);

}  // namespace attn
