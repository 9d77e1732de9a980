#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "trace/text/curve.hpp"

namespace attn {

/// All lines of the curves in one frame of Braille characters, each with its name where it ends. `tick_text`
/// says how a value is written at the left.
std::string format_chart(const Curves& curves, const std::function<std::string(double)>& tick_text,
                         std::size_t width = 80);

}  // namespace attn
