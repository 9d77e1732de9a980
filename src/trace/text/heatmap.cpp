#include "trace/text/heatmap.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace attn {

namespace {

constexpr int black = 16, white = 231;

/// Blues of the 6×6×6 colour cube whose lightness (CIE L*) falls in even steps.
constexpr std::array<CellColor, 7> ramp = {
    {{195, black}, {153, black}, {111, black}, {69, black}, {27, white}, {20, white}, {18, white}}};

/// Shares such as 1/7 fall on the edge between two colours: rounding noise must not choose between them.
constexpr double noise = 1e-6;

}  // namespace

std::optional<CellColor> heat(double share) {
  if (!(share > 0.0)) return std::nullopt;
  const double steps = std::ceil(std::min(share, 1.0) * static_cast<double>(ramp.size()) - noise);
  return ramp[static_cast<std::size_t>(std::max(steps, 1.0)) - 1];
}

}  // namespace attn
