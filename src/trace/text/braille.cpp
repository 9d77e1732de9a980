#include "trace/text/braille.hpp"

#include <array>
#include <cmath>
#include <cstdlib>

namespace attn {

BrailleCanvas::BrailleCanvas(std::size_t columns, std::size_t rows)
    : columns_(columns), rows_(rows), cells_(columns * rows) {}

void BrailleCanvas::set(int x, int y) {
  static constexpr std::array<std::array<unsigned, 4>, 2> bits = {
      {{0x40, 0x04, 0x02, 0x01}, {0x80, 0x20, 0x10, 0x08}}};
  const auto column = static_cast<std::size_t>(x / 2), row = rows_ - 1 - static_cast<std::size_t>(y / 4);
  cells_[row * columns_ + column] |= bits[static_cast<std::size_t>(x % 2)][static_cast<std::size_t>(y % 4)];
}

/// Bresenham's line.
void BrailleCanvas::draw_line(int x0, int y0, int x1, int y1) {
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
std::string BrailleCanvas::character(std::size_t column, std::size_t row) const {
  const unsigned bits = cells_[row * columns_ + column];
  return {'\xE2', static_cast<char>(0xA0 + (bits >> 6)), static_cast<char>(0x80 + (bits & 0x3F))};
}

bool BrailleCanvas::is_blank(std::size_t column, std::size_t row) const {
  return cells_[row * columns_ + column] == 0;
}

std::string BrailleCanvas::row(std::size_t row) const {
  std::string text;
  for (std::size_t column = 0; column < columns_; ++column) text += character(column, row);
  return text;
}

void draw(BrailleCanvas& canvas, const Curves& curves, const Curves::Line& line) {
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

}  // namespace attn
