#include "trace/svg/svg_shapes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "trace/text/table.hpp"
#include "attn/text/width.hpp"

namespace attn::svg {

namespace {

constexpr std::array<std::array<double, 3>, 5> ramp = {
    {{247, 251, 255}, {198, 219, 239}, {107, 174, 214}, {33, 113, 181}, {8, 48, 107}}};

}  // namespace

std::string at(double x, double y, const std::string& elements) {
  return fmt::format("<g transform=\"translate({:.1f} {:.1f})\">\n{}</g>\n", x, y, elements);
}

std::string text(double x, double y, std::string_view words, Anchor anchor, std::string_view style,
                 double rotation) {
  const char* anchors[] = {"start", "middle", "end"};
  const auto turned = rotation == 0.0
                          ? std::string()
                          : fmt::format(" transform=\"rotate({:g} {:.1f} {:.1f})\"", rotation, x, y);
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\" class=\"{}\"{}>{}</text>\n", x, y,
                     anchors[static_cast<int>(anchor)], style, turned, escaped(words));
}

double text_width(std::string_view words, double font_size) {
  return static_cast<double>(display_width(words)) * 0.6 * font_size;
}

std::string escaped(std::string_view words) {
  std::string result;
  for (const char c : printable(words)) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      default:
        result += c;
    }
  }
  return result;
}

std::string shade(double value) {
  const double place = std::clamp(value, 0.0, 1.0) * static_cast<double>(ramp.size() - 1);
  const auto below = std::min(static_cast<std::size_t>(place), ramp.size() - 2);
  const double part = place - static_cast<double>(below);
  const auto channel = [&](std::size_t i) {
    return static_cast<int>(std::lround(ramp[below][i] + part * (ramp[below + 1][i] - ramp[below][i])));
  };
  return fmt::format("#{:02x}{:02x}{:02x}", channel(0), channel(1), channel(2));
}

bool is_dark(double value) {
  return value > 0.55;
}

}  // namespace attn::svg
