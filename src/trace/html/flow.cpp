#include "trace/html/flow.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "attn/text/utf8.hpp"
#include "attn/text/width.hpp"
#include "trace/html/escape.hpp"
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

/// One column of a line of the diagram; a wide character takes two, of which the second is empty.
using Cells = std::vector<std::string>;

Cells cells_of(const std::string& line) {
  Cells cells;
  for (const auto cluster : grapheme_clusters(line)) {
    const auto width = display_width(cluster);
    if (width == 0 && !cells.empty()) {
      cells.back() += cluster;
      continue;
    }
    cells.emplace_back(cluster);
    if (width == 2) cells.emplace_back();
  }
  return cells;
}

bool is_line(const std::string& cell) {
  return sides_of(cell) || is_arrow(cell);
}

/// Words of the diagram from one column to before another.
struct Words {
  std::size_t first, last;
  std::string text;
};

/// Words end at a line, an arrow or two spaces.
std::vector<Words> words_of(const Cells& cells) {
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
  FlowDrawing(const std::string& diagram, const Target& target) : target_(target) {
    for (const auto& line : lines_of(diagram)) {
      lines_.push_back(cells_of(line));
      words_.push_back(words_of(lines_.back()));
      columns_ = std::max(columns_, lines_.back().size());
    }
  }

  std::string draw() {
    for (std::size_t line = 0; line < lines_.size(); ++line) {
      for (std::size_t column = 0; column < lines_[line].size(); ++column) draw_line(line, column);
      for (const auto& words : words_[line]) draw_words(line, words);
    }
    const double width = x_of(columns_) + 2 * box_padding + 2;
    const double height = line_height * static_cast<double>(lines_.size());
    return fmt::format(
        "<svg class=\"flow\" width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"{2:g} 0 {0:.0f} {1:.0f}\" "
        "role=\"group\" aria-label=\"Diagram of the computation\">\n<path class=\"lines\" d=\"{3}\"/>\n"
        "<path class=\"arrows\" d=\"{4}\"/>\n{5}</svg>\n",
        width, height, -box_padding - 1, path_, arrows_, elements_);
  }

 private:
  /// "name [shape]", but not "with W_Q, W_K [shape]", which has several names.
  static bool is_box(const std::string& text) {
    const auto open = text.find(" [");
    return text.ends_with(']') && open != text.npos && text.find(", ") > open && !text.starts_with("with ");
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
      const double room = is_box(words.text) ? box_padding : gap;
      return {x_of(words.first) - room, x_of(words.last) + room};
    }
    return {x_of(column), x_of(column + 1)};
  }

  void draw_line(std::size_t line, std::size_t column) {
    const auto& cell = lines_[line][column];
    const double x = middle_of(column), y = y_of(line);
    if (is_arrow(cell)) {
      const double start = left_end(line, column), end = right_end(line, column);
      path_ += segment(start, y, end, y);
      const bool is_right = cell == "→";
      const double tip = is_right ? end : start, back = is_right ? tip - arrow_length : tip + arrow_length;
      arrows_ += fmt::format("M{:.1f} {:.1f}L{:.1f} {:.1f}L{:.1f} {:.1f}Z", tip, y, back,
                             y - arrow_half_width, back, y + arrow_half_width);
      return;
    }
    const auto sides = sides_of(cell);
    if (!sides) return;
    if (sides->left) path_ += segment(left_end(line, column), y, x, y);
    if (sides->right) path_ += segment(x, y, right_end(line, column), y);
    if (sides->up) path_ += segment(x, y - line_height / 2, x, y);
    if (sides->down) path_ += segment(x, y, x, y + line_height / 2);
  }

  void draw_words(std::size_t line, const Words& words) {
    const double y = y_of(line), length = x_of(words.last) - x_of(words.first);
    const auto text = fmt::format(
        "<text x=\"{:.1f}\" y=\"{:.1f}\" textLength=\"{:.1f}\" lengthAdjust=\"spacingAndGlyphs\">{}</text>",
        x_of(words.first), y + 4.5, length, escaped(words.text));
    const auto open = words.text.find(" [");
    const bool has_box = is_box(words.text);
    const auto name = has_box ? words.text.substr(0, open) : words.text;
    const auto shape = has_box ? words.text.substr(open + 2, words.text.size() - open - 3) : "";
    const auto address = target_(name, shape);
    const auto box =
        has_box ? fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:g}\" rx=\"5\"/>",
                              x_of(words.first) - box_padding, y - half_box, length + 2 * box_padding,
                              2 * half_box)
                : "";
    elements_ += address.empty()
                     ? fmt::format("<g class=\"{}\">{}{}</g>\n", has_box ? "box" : "words", box, text)
                     : fmt::format("<a href=\"{}\" class=\"{}\">{}{}</a>\n", escaped(address),
                                   has_box ? "box" : "words", box, text);
  }

  const Target& target_;
  std::vector<Cells> lines_;
  std::vector<std::vector<Words>> words_;
  std::size_t columns_ = 0;
  std::string path_, arrows_, elements_;
};

}  // namespace

std::string flow_drawing(const std::string& diagram, const Target& target) {
  return FlowDrawing(diagram, target).draw();
}

}  // namespace attn::html
