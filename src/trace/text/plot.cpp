#include "trace/text/plot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "trace/text/braille.hpp"
#include "trace/text/curve.hpp"
#include "attn/text/width.hpp"

namespace attn {

namespace {

constexpr std::size_t most_plots = 4;
constexpr std::size_t most_columns = 56, rows = 8;

std::string scales_in_words(const Curves& curves) {
  const bool x = curves.horizontal.is_logarithmic, y = curves.vertical.is_logarithmic;
  if (!x && !y) return "";
  return x && y ? ", both scales logarithmic"
         : x    ? ", its scale logarithmic"
                : ", the scale of values logarithmic";
}

std::string plot(const Curves& curves, const Curves::Line& line, std::size_t width) {
  const auto high = tick(curves.vertical.high), low = tick(curves.vertical.low);
  const std::size_t margin = 2 + std::max(high.size(), low.size()) + 1;
  const std::size_t columns = std::min(most_columns, width > margin + 2 ? width - margin - 1 : 1);
  BrailleCanvas canvas(columns, rows);
  draw(canvas, curves, line);

  std::string text;
  if (!line.name.empty()) text += "  " + line.name + '\n';
  for (std::size_t i = 0; i < rows; ++i) {
    const auto label = i == 0 ? high : i + 1 == rows ? low : "";
    text += pad_left(label, margin - 1) + "│" + canvas.row(i) + '\n';
  }
  const auto first = tick(curves.horizontal.low), last = tick(curves.horizontal.high);
  text += std::string(margin, ' ') + first + pad_left(last, columns - std::min(columns, first.size())) + '\n';
  return text;
}

}  // namespace

std::string format_plot(const Event& event, const TextStyle& style) {
  const auto curves = curves_of(event);
  const std::size_t shown = std::min(curves.lines.size(), most_plots);
  std::string text;
  for (std::size_t i = 0; i < shown; ++i) text += plot(curves, curves.lines[i], style.width);
  text += fmt::format("  over {}{}\n", curves.axis, scales_in_words(curves));
  if (shown < curves.lines.size()) text += fmt::format("  … and {} more\n", curves.lines.size() - shown);
  return text;
}

}  // namespace attn
