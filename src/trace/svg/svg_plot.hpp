#pragma once

#include "trace/text/curve.hpp"
#include "trace/svg/svg_shapes.hpp"
#include "trace/event.hpp"

namespace attn::svg {

/// Curves as lines, with ticks and, for several lines, their names.
Drawing line_plot(const Curves& curves);

/// The curves of a step over its last axis. A scale whose values span a factor of more than a hundred is
/// logarithmic, and says so.
Drawing line_plot(const Event& event);

}  // namespace attn::svg
