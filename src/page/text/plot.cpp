#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <vector>

#include "attn/text/width.hpp"
#include "page/text/text.hpp"

namespace attn {

namespace {

/// Dots that are set in a grid of Braille characters, two by four in each, on which names may stand, a column
/// for each of their characters.
class Canvas {
 public:
  /// Names may go on for `margin` columns at the right of the dots.
  Canvas(std::size_t columns, std::size_t rows, std::size_t margin = 0)
      : columns_(columns), cells_(columns * rows), letters_(rows, std::string(columns + margin, '\0')) {}

  std::size_t rows() const { return letters_.size(); }

  /// In dots.
  int width() const { return static_cast<int>(2 * columns_); }
  int height() const { return static_cast<int>(4 * rows()); }

  /// Bresenham's line, x from the left, y from the bottom.
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

  /// As near to the place as there is room: on blank ground at best, on a line where there is none.
  void write(const std::string& name, std::size_t column, std::size_t row) {
    for (const bool may_cover_lines : {false, true})
      for (std::size_t distance = 0; distance < rows(); ++distance)
        for (const bool above : {true, false}) {
          const std::size_t place = above ? row - distance : row + distance;
          if (place >= rows() || !has_room(name.size(), column, place, may_cover_lines)) continue;
          letters_[place].replace(column, name.size(), name);
          return;
        }
  }

  /// Counted from the top.
  std::string row(std::size_t index) const {
    std::string text;
    for (std::size_t column = 0; column < letters_[index].size(); ++column) {
      const char letter = letters_[index][column];
      text += letter != '\0' ? std::string(1, letter) : column < columns_ ? character(column, index) : " ";
    }
    return text.substr(0, text.find_last_not_of(' ') + 1);
  }

 private:
  void set(int x, int y) {
    static constexpr std::array<std::array<unsigned, 4>, 2> bits = {
        {{0x40, 0x04, 0x02, 0x01}, {0x80, 0x20, 0x10, 0x08}}};
    const auto column = static_cast<std::size_t>(x / 2), row = rows() - 1 - static_cast<std::size_t>(y / 4);
    cells_[row * columns_ + column] |= bits[static_cast<std::size_t>(x % 2)][static_cast<std::size_t>(y % 4)];
  }

  /// U+2800 and the 255 characters after it in UTF-8.
  std::string character(std::size_t column, std::size_t row) const {
    const unsigned bits = cells_[row * columns_ + column];
    return {'\xE2', static_cast<char>(0xA0 + (bits >> 6)), static_cast<char>(0x80 + (bits & 0x3F))};
  }

  /// One column stays free on either side.
  bool has_room(std::size_t size, std::size_t column, std::size_t row, bool may_cover_lines) const {
    if (column + size > letters_[row].size()) return false;
    const std::size_t end = std::min(column + size + 1, letters_[row].size());
    for (std::size_t c = column > 0 ? column - 1 : 0; c < end; ++c) {
      const bool is_line = c >= column && c < columns_ && cells_[row * columns_ + c] != 0;
      if (letters_[row][c] != '\0' || (is_line && !may_cover_lines)) return false;
    }
    return true;
  }

  std::size_t columns_;
  std::vector<unsigned> cells_;
  std::vector<std::string> letters_;
};

/// Draws one of the curves over the whole canvas, with a gap wherever a value is not finite.
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

constexpr std::size_t most_lines = 4;  // in one frame

std::string scales_in_words(const Curves& curves) {
  const bool x = curves.horizontal.is_logarithmic, y = curves.vertical.is_logarithmic;
  if (!x && !y) return "";
  return x && y ? ", both scales logarithmic"
         : x    ? ", its scale logarithmic"
                : ", the scale of values logarithmic";
}

constexpr std::size_t fewest_columns = 16;

/// Few lines are told apart in a low frame; more of them need room.
std::size_t chart_rows(const Curves& curves) {
  const auto lines = curves.lines.size();
  return lines <= 3 ? 4 * std::max<std::size_t>(lines, 2) : 18;
}

std::size_t cell(double place, std::size_t cells) {
  return static_cast<std::size_t>(std::lround(place * static_cast<double>(cells - 1)));
}

std::size_t row_of(const Scale& scale, double value, std::size_t rows) {
  return rows - 1 - cell(scale.place(value), rows);
}

/// Each name beside the last point of its line that can be seen, if there is one.
void write_names(Canvas& canvas, const Curves& curves, std::size_t columns) {
  for (const auto& [name, values, style] : curves.lines) {
    auto end = values.size();
    while (end > 0 && !std::isfinite(values[end - 1])) --end;
    if (end == 0) continue;
    const std::size_t column = cell(curves.horizontal.place(curves.positions[end - 1]), columns);
    canvas.write(name, column + 2, row_of(curves.vertical, values[end - 1], canvas.rows()));
  }
}

/// The positions below their columns, as many as there is room for, the last one for certain.
std::string bottom_labels(const Curves& curves, std::size_t columns, std::size_t room) {
  std::string line(room, ' ');
  std::size_t free_until = room;
  for (auto position = curves.positions.rbegin(); position != curves.positions.rend(); ++position) {
    const auto label = tick(*position);
    const std::size_t middle = cell(curves.horizontal.place(*position), columns);
    const std::size_t begin = middle - std::min(middle, label.size() / 2);
    if (begin + label.size() > free_until) continue;
    line.replace(begin, label.size(), label);
    free_until = begin > 0 ? begin - 1 : 0;
  }
  return line.substr(0, line.find_last_not_of(' ') + 1);
}

}  // namespace

std::string format_plot(const Curves& curves, std::size_t width) {
  auto shown = curves;
  shown.lines.resize(std::min(curves.lines.size(), most_lines));
  const auto more = curves.lines.size() - shown.lines.size();
  return format_chart(shown, tick, width) +
         fmt::format("  over {}{}\n", curves.axis, scales_in_words(curves)) +
         (more > 0 ? fmt::format("  … and {} more\n", more) : "");
}

std::string format_chart(const Curves& curves, const std::function<std::string(double)>& tick_text,
                         std::size_t width) {
  std::vector<std::string> labels(chart_rows(curves));
  for (const double value : ticks_of(curves.vertical))
    labels[row_of(curves.vertical, value, labels.size())] = tick_text(value);
  std::size_t left = 0, right = 0;
  for (const auto& label : labels) left = std::max(left, 2 + display_width(label));
  for (const auto& line : curves.lines) right = std::max(right, line.name.size() + 2);
  const std::size_t columns = std::max(width, left + 1 + right + fewest_columns) - left - 1 - right;

  Canvas canvas(columns, labels.size(), right);
  for (const auto& line : curves.lines) draw(canvas, curves, line);
  write_names(canvas, curves, columns);

  std::string text;
  for (std::size_t i = 0; i < labels.size(); ++i)
    text += pad_left(labels[i], left) + (labels[i].empty() ? "│" : "┤") + canvas.row(i) + '\n';
  text += std::string(left + 1, ' ') + bottom_labels(curves, columns, columns + right) + '\n';
  return text;
}

}  // namespace attn
