#pragma once

#include <string>

#include "trace/text/table.hpp"
#include "trace/event.hpp"

namespace attn {

/// The curves of a step as plots of Braille characters, two by four dots each, indented by two columns: a
/// plot for each line, four at most, with the largest and smallest value at its left and the first and last
/// position below. Says where a scale is logarithmic.
std::string format_plot(const Event& event, const TextStyle& style);

}  // namespace attn
