#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "page/svg/svg.hpp"

namespace attn::svg {

namespace {

constexpr double plot_width = 620.0, plot_height = 280.0;
constexpr double left = 76.0, top = 12.0;
constexpr std::array<const char*, 8> colours = {"#2171b5", "#d94801", "#238b45", "#6a51a3",
                                                "#cb181d", "#0f8a8a", "#8c6d31", "#737373"};

/// A colour for each line; from the ninth on the same ones dashed.
std::string stroke(std::size_t line) {
  const char* dashes = line < colours.size() ? "" : " stroke-dasharray=\"7 4\"";
  return fmt::format("stroke=\"{}\"{} class=\"line\"", colours[line % colours.size()], dashes);
}

double x_of(const Curves& curves, double position) {
  return left + curves.horizontal.place(position) * plot_width;
}

double y_of(const Curves& curves, double value) {
  return top + (1.0 - curves.vertical.place(value)) * plot_height;
}

/// The positions, in order, but for those whose names would run into the one before.
std::vector<double> with_room(const Curves& curves, std::vector<double> positions) {
  constexpr double font_size = 12.0, gap = 6.0;
  std::sort(positions.begin(), positions.end());
  double free_from = 0.0;
  std::erase_if(positions, [&](double position) {
    const double half = text_width(tick(position), font_size) / 2, x = x_of(curves, position);
    if (x - half < free_from) return true;
    free_from = x + half + gap;
    return false;
  });
  return positions;
}

/// A few positions are written themselves. Where all are whole, layers say, no tick stands between two.
std::vector<double> horizontal_ticks(const Curves& curves) {
  constexpr std::size_t most_positions = 10;
  const auto is_whole = [](double position) { return position == std::floor(position); };
  if (curves.positions.size() <= most_positions) return with_room(curves, curves.positions);
  auto ticks = ticks_of(curves.horizontal);
  if (std::all_of(curves.positions.begin(), curves.positions.end(), is_whole))
    std::erase_if(ticks, [&](double tick) { return !is_whole(tick); });
  return ticks;
}

std::string frame_and_ticks(const Curves& curves) {
  auto elements =
      fmt::format("<rect x=\"{:g}\" y=\"{:g}\" width=\"{:g}\" height=\"{:g}\" class=\"frame\"/>\n", left, top,
                  plot_width, plot_height);
  for (const double value : ticks_of(curves.vertical)) {
    const double y = y_of(curves, value);
    elements += fmt::format("<line x1=\"{:g}\" y1=\"{:.1f}\" x2=\"{:g}\" y2=\"{:.1f}\" class=\"grid\"/>\n",
                            left, y, left + plot_width, y);
    elements += text(left - 6.0, y + 4.0, tick(value), Anchor::end, "label");
  }
  for (const double position : horizontal_ticks(curves))
    elements +=
        text(x_of(curves, position), top + plot_height + 18.0, tick(position), Anchor::middle, "label");
  return elements;
}

/// The line with a gap wherever a value is not finite.
std::string path_of(const Curves& curves, std::size_t index) {
  const auto& line = curves.lines[index];
  std::string path;
  bool is_drawing = false;
  for (std::size_t i = 0; i < line.values.size(); ++i) {
    const bool is_finite = std::isfinite(line.values[i]);
    if (is_finite)
      path += fmt::format("{}{:.1f} {:.1f} ", is_drawing ? 'L' : 'M', x_of(curves, curves.positions[i]),
                          y_of(curves, line.values[i]));
    is_drawing = is_finite;
  }
  return fmt::format("<path d=\"{}\" {}/>\n", path, stroke(index));
}

std::string axis_name(const Curves& curves) {
  auto name = curves.axis;
  if (curves.horizontal.is_logarithmic) name += " (logarithmic)";
  if (curves.vertical.is_logarithmic) name += ", values on a logarithmic scale";
  return name;
}

}  // namespace

Drawing line_plot(const Curves& curves) {
  Drawing plot{frame_and_ticks(curves), left + plot_width + 30.0, top + plot_height + 46.0};
  for (std::size_t i = 0; i < curves.lines.size(); ++i) {
    const auto& line = curves.lines[i];
    plot.elements += path_of(curves, i);
    if (line.name.empty()) continue;
    const double y = top + 14.0 + 18.0 * static_cast<double>(i);
    plot.elements += fmt::format("<line x1=\"{0:g}\" y1=\"{2:g}\" x2=\"{1:g}\" y2=\"{2:g}\" {3}/>\n",
                                 left + plot_width + 14.0, left + plot_width + 32.0, y - 4.0, stroke(i));
    plot.elements += text(left + plot_width + 38.0, y, line.name, Anchor::start, "label");
    plot.width = std::max(plot.width, left + plot_width + 44.0 + text_width(line.name, 12.0));
    plot.height = std::max(plot.height, y + 12.0);
  }
  plot.elements +=
      text(left + plot_width / 2, top + plot_height + 38.0, axis_name(curves), Anchor::middle, "label");
  return plot;
}

Drawing line_plot(const Event& event) {
  auto plot = line_plot(curves_of(event));
  plot.description = fmt::format("A plot of {} over {}.", event.id, event.axes.back());
  return plot;
}

}  // namespace attn::svg
