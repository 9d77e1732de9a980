#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "page/curve.hpp"

namespace attn {

/// Curves as plots of Braille characters, two by four dots each, indented by two columns: two to four lines
/// in one frame, as `format_chart` has them; else a plot for each line, four at most, with the largest and
/// smallest value at its left and the first and last position below. Says where a scale is logarithmic.
std::string format_plot(const Curves& curves, std::size_t width);

/// All lines of the curves in one frame of Braille characters, each with its name where it ends. `tick_text`
/// says how a value is written at the left.
std::string format_chart(const Curves& curves, const std::function<std::string(double)>& tick_text,
                         std::size_t width = 80);

}  // namespace attn
