#include "page/html/flow.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "page/html/columns.hpp"
#include "page/html/escape.hpp"
#include "trace/wording.hpp"

namespace attn::html {

namespace {

constexpr double column_width = 8.4, line_height = 32.0;
constexpr double half_box = 12.0, box_padding = 6.0;  // of a box: half its height, and beside its words
constexpr double gap = 3.0;                           // between a line and the words that it reaches
constexpr double arrow_length = 6.0, arrow_half_width = 3.5;

/// The sides on which a box-drawing character goes on.
struct Sides {
  bool left = false, right = false, up = false, down = false;
};

std::optional<Sides> sides_of(std::string_view character) {
  static const std::map<std::string_view, Sides> sides = {
      {"─", {true, true, false, false}}, {"│", {false, false, true, true}}, {"┌", {false, true, false, true}},
      {"┐", {true, false, false, true}}, {"└", {false, true, true, false}}, {"┘", {true, false, true, false}},
      {"├", {false, true, true, true}},  {"┤", {true, false, true, true}},  {"┬", {true, true, false, true}},
      {"┴", {true, true, true, false}},  {"┼", {true, true, true, true}}};
  const auto found = sides.find(character);
  if (found == sides.end()) return std::nullopt;
  return found->second;
}

bool is_arrow(std::string_view character) {
  return character == "→" || character == "←";
}

bool is_vertical_arrow(std::string_view character) {
  return character == "↑" || character == "↓";
}

bool is_line(const std::string& cell) {
  return sides_of(cell) || is_arrow(cell) || is_vertical_arrow(cell);
}

/// Words of the diagram from one column to before another.
struct Words {
  std::size_t first, last;
  std::string text;
  std::string address{};   ///< empty where they lead nowhere
  bool has_shape = false;  ///< "name [shape]", which is a box where it leads somewhere

  bool is_box() const { return has_shape && !address.empty(); }
};

/// Words end at a line, an arrow or two spaces.
std::vector<Words> words_of(const Columns& cells) {
  std::vector<Words> all;
  for (std::size_t i = 0; i < cells.size();) {
    if (cells[i] == " " || is_line(cells[i])) {
      ++i;
      continue;
    }
    Words words{i, i, ""};
    for (; i < cells.size() && !is_line(cells[i]); ++i) {
      const bool ends =
          cells[i] == " " && (i + 1 == cells.size() || cells[i + 1] == " " || is_line(cells[i + 1]));
      if (ends) break;
      words.text += cells[i];
      words.last = i + 1;
    }
    all.push_back(std::move(words));
  }
  return all;
}

double x_of(std::size_t column) {
  return static_cast<double>(column) * column_width;
}

double middle_of(std::size_t column) {
  return x_of(column) + column_width / 2;
}

double y_of(std::size_t line) {
  return (static_cast<double>(line) + 0.5) * line_height;
}

std::string segment(double x1, double y1, double x2, double y2) {
  return fmt::format("M{:.1f} {:.1f}L{:.1f} {:.1f}", x1, y1, x2, y2);
}

/// Draws one diagram.
class FlowDrawing {
 public:
  FlowDrawing(const std::string& diagram, const Target& target) {
    for (const auto& line : lines_of(diagram)) {
      lines_.push_back(columns_of(line));
      words_.push_back(words_of(lines_.back()));
      for (auto& words : words_.back()) find_target(words, target);
      columns_ = std::max(columns_, lines_.back().size());
    }
  }

  svg::Drawing draw() {
    for (std::size_t line = 0; line < lines_.size(); ++line) {
      for (std::size_t column = 0; column < lines_[line].size(); ++column) draw_line(line, column);
      for (const auto& words : words_[line]) draw_words(line, words);
    }
    const double width = std::round(x_of(columns_) + 2 * box_padding + 2);
    const double height = line_height * static_cast<double>(lines_.size());
    return {fmt::format(
                "<svg class=\"attn-flow\" width=\"{0:g}\" height=\"{1:g}\" viewBox=\"{2:g} 0 {0:g} {1:g}\" "
                "role=\"group\" aria-label=\"Diagram of the computation\">\n<path class=\"attn-edges\" "
                "d=\"{3}\"/>\n<path class=\"attn-arrows\" d=\"{4}\"/>\n{5}</svg>\n",
                width, height, -box_padding - 1, path_, arrows_, elements_),
            width, height};
  }

 private:
  /// Of "name [shape]", but not of "with W_Q, W_K [shape]", which has several names. The step of "new h [96]"
  /// may be called h.
  static void find_target(Words& words, const Target& target) {
    const auto& text = words.text;
    const auto open = text.find(" [");
    words.has_shape =
        text.ends_with(']') && open != text.npos && text.find(", ") > open && !text.starts_with("with ");
    const auto name = words.has_shape ? text.substr(0, open) : text;
    const auto shape = words.has_shape ? text.substr(open + 2, text.size() - open - 3) : "";
    words.address = target(name, shape);
    if (words.address.empty() && words.has_shape)
      words.address = target(name.substr(name.rfind(' ') + 1), shape);
  }

  /// Where a line that leaves a column to the left ends: at the words there or in the middle of the line
  /// there.
  double left_end(std::size_t line, std::size_t column) const {
    const auto& cells = lines_[line];
    for (auto i = column; i-- > 0;)
      if (cells[i] != " ") return is_line(cells[i]) ? x_of(i + 1) : edge_of(line, i).second;
    return x_of(column) - column_width / 2;
  }

  double right_end(std::size_t line, std::size_t column) const {
    const auto& cells = lines_[line];
    for (auto i = column + 1; i < cells.size(); ++i)
      if (cells[i] != " ") return is_line(cells[i]) ? x_of(i) : edge_of(line, i).first;
    return x_of(column + 1);
  }

  /// Both edges of the words or the box at a column.
  std::pair<double, double> edge_of(std::size_t line, std::size_t column) const {
    for (const auto& words : words_[line]) {
      if (column < words.first || column >= words.last) continue;
      const double room = words.is_box() ? box_padding : gap;
      return {x_of(words.first) - room, x_of(words.last) + room};
    }
    return {x_of(column), x_of(column + 1)};
  }

  /// A line from one point to another, which is beside or above it, and the head of its arrow.
  void draw_arrow(double x1, double y1, double x2, double y2) {
    path_ += segment(x1, y1, x2, y2);
    const bool is_flat = y1 == y2;
    const double back = (is_flat ? x2 > x1 : y2 > y1) ? -arrow_length : arrow_length;
    const double x = is_flat ? x2 + back : x2, y = is_flat ? y2 : y2 + back;
    const double across = is_flat ? 0.0 : arrow_half_width, along = is_flat ? arrow_half_width : 0.0;
    arrows_ += fmt::format("M{:.1f} {:.1f}L{:.1f} {:.1f}L{:.1f} {:.1f}Z", x2, y2, x - across, y - along,
                           x + across, y + along);
  }

  bool has_words_at(std::size_t line, std::size_t column) const {
    return line < lines_.size() && column < lines_[line].size() && lines_[line][column] != " " &&
           !is_line(lines_[line][column]);
  }

  /// What joins or branches off ends with an arrow at the words that it reaches.
  void draw_line(std::size_t line, std::size_t column) {
    const auto& cell = lines_[line][column];
    const double x = middle_of(column), y = y_of(line), up = y - line_height / 2, down = y + line_height / 2;
    if (cell == "→") draw_arrow(left_end(line, column), y, right_end(line, column), y);
    if (cell == "←") draw_arrow(right_end(line, column), y, left_end(line, column), y);
    if (cell == "↑") draw_arrow(x, down, x, up);
    if (cell == "↓") draw_arrow(x, up, x, down);
    const auto sides = sides_of(cell);
    if (!sides) return;
    const bool is_corner = sides->left != sides->right && sides->up != sides->down;
    const bool branches = (sides->up || sides->down) && sides->right;
    auto next = column + 1;
    while (next < lines_[line].size() && lines_[line][next] == " ") ++next;
    if (sides->left) path_ += segment(left_end(line, column), y, x, y);
    if (branches && has_words_at(line, next))
      draw_arrow(x, y, right_end(line, column), y);
    else if (sides->right)
      path_ += segment(x, y, right_end(line, column), y);
    if (is_corner && sides->left && sides->up && line > 0 && has_words_at(line - 1, column))
      draw_arrow(x, y, x, up);
    else if (sides->up)
      path_ += segment(x, up, x, y);
    if (sides->down) path_ += segment(x, y, x, down);
  }

  void draw_words(std::size_t line, const Words& words) {
    const double y = y_of(line), length = x_of(words.last) - x_of(words.first);
    const auto text = fmt::format(
        "<text x=\"{:.1f}\" y=\"{:.1f}\" textLength=\"{:.1f}\" lengthAdjust=\"spacingAndGlyphs\">{}</text>",
        x_of(words.first), y + 4.5, length, escaped(words.text));
    const auto box =
        words.is_box()
            ? fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:g}\" rx=\"5\"/>",
                          x_of(words.first) - box_padding, y - half_box, length + 2 * box_padding,
                          2 * half_box)
            : "";
    const auto* style = words.is_box() ? "attn-box" : "attn-label";
    elements_ +=
        words.address.empty() || words.address == nowhere
            ? fmt::format("<g class=\"{}\">{}{}</g>\n", style, box, text)
            : fmt::format("<a href=\"{}\" class=\"{}\">{}{}</a>\n", escaped(words.address), style, box, text);
  }

  std::vector<Columns> lines_;
  std::vector<std::vector<Words>> words_;
  std::size_t columns_ = 0;
  std::string path_, arrows_, elements_;
};

}  // namespace

svg::Drawing flow_drawing(const std::string& diagram, const Target& target) {
  return FlowDrawing(diagram, target).draw();
}

}  // namespace attn::html

namespace attn::svg {

namespace {

Drawing flow_of(const Panel& panel) {
  return html::flow_drawing(std::get<std::string>(panel.content), [](const auto&, const std::string& shape) {
    return std::string(shape.empty() ? "" : html::nowhere);
  });
}

Room wish_of_flow(const Panel& panel) {
  const auto drawing = flow_of(panel);
  return {drawing.width, drawing.height};
}

Drawing draw_flow(const Panel& panel, const Room&, const Shown&) {
  return flow_of(panel);
}

}  // namespace

const Kind flow{"flow", wish_of_flow, draw_flow};

}  // namespace attn::svg
