#include "trace/text/chart.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <vector>

#include "trace/text/braille.hpp"
#include "attn/text/width.hpp"

namespace attn {

namespace {

constexpr std::size_t rows = 18;
constexpr std::size_t fewest_columns = 16;

/// A canvas on which names may stand, a column for each of their characters.
class NamedCanvas {
 public:
  /// Names may go on for `margin` columns at the right of the canvas.
  NamedCanvas(std::size_t columns, std::size_t margin)
      : canvas(columns, rows), columns_(columns), letters_(rows, std::string(columns + margin, '\0')) {}

  /// As near to the place as there is room: on blank ground at best, on a line where there is none.
  void write(const std::string& name, std::size_t column, std::size_t row) {
    for (const bool may_cover_lines : {false, true})
      for (std::size_t distance = 0; distance < rows; ++distance)
        for (const bool above : {true, false}) {
          const std::size_t place = above ? row - distance : row + distance;
          if (place >= rows || !has_room(name.size(), column, place, may_cover_lines)) continue;
          letters_[place].replace(column, name.size(), name);
          return;
        }
  }

  std::string row(std::size_t index) const {
    std::string text;
    for (std::size_t column = 0; column < letters_[index].size(); ++column) {
      if (const char letter = letters_[index][column]; letter != '\0')
        text += letter;
      else
        text += column < columns_ ? canvas.character(column, index) : " ";
    }
    return text.substr(0, text.find_last_not_of(' ') + 1);
  }

  BrailleCanvas canvas;

 private:
  /// One column stays free on either side.
  bool has_room(std::size_t size, std::size_t column, std::size_t row, bool may_cover_lines) const {
    const std::size_t begin = column > 0 ? column - 1 : 0;
    const std::size_t end = std::min(column + size + 1, letters_[row].size());
    if (column + size > letters_[row].size()) return false;
    for (std::size_t c = begin; c < end; ++c) {
      const bool is_line = c >= column && c < columns_ && !canvas.is_blank(c, row);
      if (letters_[row][c] != '\0' || (is_line && !may_cover_lines)) return false;
    }
    return true;
  }

  std::size_t columns_;
  std::vector<std::string> letters_;
};

std::size_t cell(double place, std::size_t cells) {
  return static_cast<std::size_t>(std::lround(place * static_cast<double>(cells - 1)));
}

std::size_t row_of(const Scale& scale, double value) {
  return rows - 1 - cell(scale.place(value), rows);
}

/// The last point of a line that can be seen, if there is one.
std::ptrdiff_t end_of(const Curves::Line& line) {
  auto end = static_cast<std::ptrdiff_t>(line.values.size()) - 1;
  while (end >= 0 && !std::isfinite(line.values[static_cast<std::size_t>(end)])) --end;
  return end;
}

void write_names(NamedCanvas& canvas, const Curves& curves, std::size_t columns) {
  for (const auto& line : curves.lines) {
    const auto end = end_of(line);
    if (end < 0) continue;
    const auto last = static_cast<std::size_t>(end);
    const std::size_t column = cell(curves.horizontal.place(curves.positions[last]), columns);
    canvas.write(line.name, column + 2, row_of(curves.vertical, line.values[last]));
  }
}

/// What stands at the left of each row.
std::vector<std::string> left_labels(const Curves& curves,
                                     const std::function<std::string(double)>& tick_text) {
  std::vector<std::string> labels(rows);
  for (const double value : ticks_of(curves.vertical))
    labels[row_of(curves.vertical, value)] = tick_text(value);
  return labels;
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

std::string format_chart(const Curves& curves, const std::function<std::string(double)>& tick_text,
                         std::size_t width) {
  const auto labels = left_labels(curves, tick_text);
  std::size_t left = 0, right = 0;
  for (const auto& label : labels) left = std::max(left, 2 + display_width(label));
  for (const auto& line : curves.lines) right = std::max(right, line.name.size() + 2);
  const std::size_t columns = std::max(width, left + 1 + right + fewest_columns) - left - 1 - right;

  NamedCanvas canvas(columns, right);
  for (const auto& line : curves.lines) draw(canvas.canvas, curves, line);
  write_names(canvas, curves, columns);

  std::string text;
  for (std::size_t i = 0; i < rows; ++i)
    text += pad_left(labels[i], left) + (labels[i].empty() ? "│" : "┤") + canvas.row(i) + '\n';
  text += std::string(left + 1, ' ') + bottom_labels(curves, columns, columns + right) + '\n';
  return text;
}

}  // namespace attn
