#pragma once

#include "attn/render/svg_shapes.hpp"
#include "attn/trace/event.hpp"

namespace attn::svg {

/// The curves of a step as lines over their last axis, with ticks and, for several lines, their names. A
/// scale whose values span a factor of more than a hundred is logarithmic, and says so.
Drawing line_plot(const Event& event);

}  // namespace attn::svg
