#pragma once

#include "trace/svg/svg_shapes.hpp"
#include "trace/event.hpp"

namespace attn::svg {

/// The weights of a step [(batch×)(head×)query×key] as heatmaps side by side, with token labels, values where
/// the cells have room for them, and a colour bar. Of more than a hundred tokens along an axis the first
/// hundred are drawn, and the caption says so.
Drawing heatmaps(const Event& event);

}  // namespace attn::svg
