#include "attn/render/plot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <vector>

#include "attn/render/curve.hpp"
#include "attn/text/width.hpp"

namespace attn {

namespace {

constexpr std::size_t most_plots = 4;
constexpr std::size_t most_columns = 56, rows = 8;

/// Dots that are set in a grid of Braille characters.
class Canvas {
 public:
  Canvas(std::size_t columns, std::size_t row_count)
      : columns_(columns), rows_(row_count), cells_(columns * row_count) {}

  int width() const { return static_cast<int>(2 * columns_); }
  int height() const { return static_cast<int>(4 * rows_); }

  /// x from the left, y from the bottom.
  void set(int x, int y) {
    static constexpr std::array<std::array<unsigned, 4>, 2> bits = {
        {{0x40, 0x04, 0x02, 0x01}, {0x80, 0x20, 0x10, 0x08}}};
    const auto column = static_cast<std::size_t>(x / 2), row = rows_ - 1 - static_cast<std::size_t>(y / 4);
    cells_[row * columns_ + column] |= bits[static_cast<std::size_t>(x % 2)][static_cast<std::size_t>(y % 4)];
  }

  /// Bresenham's line.
  void draw_line(int x0, int y0, int x1, int y1) {
    const int dx = std::abs(x1 - x0), dy = -std::abs(y1 - y0);
    const int step_x = x0 < x1 ? 1 : -1, step_y = y0 < y1 ? 1 : -1;
    for (int error = dx + dy;;) {
      set(x0, y0);
      if (x0 == x1 && y0 == y1) return;
      const int twice = 2 * error;
      if (twice >= dy) error += dy, x0 += step_x;
      if (twice <= dx) error += dx, y0 += step_y;
    }
  }

  /// U+2800 and the 255 characters after it in UTF-8.
  std::string row(std::size_t index) const {
    std::string text;
    for (std::size_t column = 0; column < columns_; ++column) {
      const unsigned bits = cells_[index * columns_ + column];
      text += {'\xE2', static_cast<char>(0xA0 + (bits >> 6)), static_cast<char>(0x80 + (bits & 0x3F))};
    }
    return text;
  }

 private:
  std::size_t columns_, rows_;
  std::vector<unsigned> cells_;
};

void draw(Canvas& canvas, const Curves& curves, const Curves::Line& line) {
  const auto dot = [](double place, int dots) { return static_cast<int>(std::lround(place * (dots - 1))); };
  for (std::size_t i = 0; i < line.values.size(); ++i) {
    if (!std::isfinite(line.values[i])) continue;
    const std::size_t from = i > 0 && std::isfinite(line.values[i - 1]) ? i - 1 : i;
    const auto x = [&](std::size_t k) {
      return dot(curves.horizontal.place(curves.positions[k]), canvas.width());
    };
    const auto y = [&](std::size_t k) { return dot(curves.vertical.place(line.values[k]), canvas.height()); };
    canvas.draw_line(x(from), y(from), x(i), y(i));
  }
}

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
  Canvas canvas(columns, rows);
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
