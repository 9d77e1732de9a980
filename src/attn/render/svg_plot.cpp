#include "attn/render/svg_plot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "attn/render/curve.hpp"

namespace attn::svg {

namespace {

constexpr double plot_width = 620.0, plot_height = 280.0;
constexpr double left = 76.0, top = 12.0;
constexpr std::array<const char*, 8> colours = {"#2171b5", "#d94801", "#238b45", "#6a51a3",
                                                "#cb181d", "#0f8a8a", "#8c6d31", "#737373"};

double value_at(const Scale& scale, double place) {
  if (scale.is_logarithmic) return scale.low * std::pow(scale.high / scale.low, place);
  return scale.low + place * (scale.high - scale.low);
}

double x_of(const Curves& curves, std::size_t i) {
  return left + curves.horizontal.place(curves.positions[i]) * plot_width;
}

double y_of(const Curves& curves, double value) {
  return top + (1.0 - curves.vertical.place(value)) * plot_height;
}

std::string frame_and_ticks(const Curves& curves) {
  auto elements =
      fmt::format("<rect x=\"{:g}\" y=\"{:g}\" width=\"{:g}\" height=\"{:g}\" class=\"frame\"/>\n", left, top,
                  plot_width, plot_height);
  for (const double place : {0.0, 0.25, 0.5, 0.75, 1.0}) {
    const double y = top + (1.0 - place) * plot_height, x = left + place * plot_width;
    elements += fmt::format("<line x1=\"{:g}\" y1=\"{:.1f}\" x2=\"{:g}\" y2=\"{:.1f}\" class=\"grid\"/>\n",
                            left, y, left + plot_width, y);
    elements += text(left - 6.0, y + 4.0, tick(value_at(curves.vertical, place)), Anchor::end, "label");
    elements +=
        text(x, top + plot_height + 18.0, tick(value_at(curves.horizontal, place)), Anchor::middle, "label");
  }
  return elements;
}

/// The line with a gap wherever a value is not finite.
std::string path_of(const Curves& curves, const Curves::Line& line, const char* colour) {
  std::string path;
  bool is_drawing = false;
  for (std::size_t i = 0; i < line.values.size(); ++i) {
    const bool is_finite = std::isfinite(line.values[i]);
    if (is_finite)
      path += fmt::format("{}{:.1f} {:.1f} ", is_drawing ? 'L' : 'M', x_of(curves, i),
                          y_of(curves, line.values[i]));
    is_drawing = is_finite;
  }
  return fmt::format("<path d=\"{}\" stroke=\"{}\" class=\"line\"/>\n", path, colour);
}

std::string axis_name(const Curves& curves) {
  auto name = curves.axis;
  if (curves.horizontal.is_logarithmic) name += " (logarithmic)";
  if (curves.vertical.is_logarithmic) name += ", values on a logarithmic scale";
  return name;
}

}  // namespace

Drawing line_plot(const Event& event) {
  const auto curves = curves_of(event);
  Drawing plot{frame_and_ticks(curves), left + plot_width + 30.0, top + plot_height + 46.0};
  for (std::size_t i = 0; i < curves.lines.size(); ++i) {
    const auto& line = curves.lines[i];
    const char* colour = colours[i % colours.size()];
    plot.elements += path_of(curves, line, colour);
    if (line.name.empty()) continue;
    const double y = top + 14.0 + 18.0 * static_cast<double>(i);
    plot.elements += fmt::format("<rect x=\"{:g}\" y=\"{:g}\" width=\"18\" height=\"4\" fill=\"{}\"/>\n",
                                 left + plot_width + 14.0, y - 6.0, colour);
    plot.elements += text(left + plot_width + 38.0, y, line.name, Anchor::start, "label");
    plot.width = std::max(plot.width, left + plot_width + 44.0 + text_width(line.name, 12.0));
    plot.height = std::max(plot.height, y + 12.0);
  }
  plot.elements +=
      text(left + plot_width / 2, top + plot_height + 38.0, axis_name(curves), Anchor::middle, "label");
  return plot;
}

}  // namespace attn::svg
