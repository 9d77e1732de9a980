#include "page/html/markup.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include "attn/text/utf8.hpp"
#include "attn/text/width.hpp"
#include "page/builder.hpp"
#include "page/text/plain.hpp"
#include "trace/wording.hpp"

namespace attn::html {

std::string in_script(std::string_view json, std::string_view others) {
  std::string text;
  for (const char c : json)
    if (c == '<' || c == '>' || c == '&' || others.find(c) != others.npos)
      text += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    else
      text += c;
  return text;
}

std::string json_string(std::string_view words) {
  return '"' + in_script(svg::without_noncharacters(printable(words)), "\"\\") + '"';
}

std::string base64(std::string_view bytes) {
  constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t bits = 0;
    for (const auto k : {i, i + 1, i + 2})
      bits = bits << 8 | (k < bytes.size() ? static_cast<unsigned char>(bytes[k]) : 0U);
    for (std::size_t k = 0; k < 4; ++k)
      text += i + k > bytes.size() ? '=' : digits[bits >> (18 - 6 * k) & 63];
  }
  return text;
}

std::string base64_of_hex(std::string_view hex) {
  constexpr std::string_view hex_digits = "0123456789abcdef";
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes += static_cast<char>(hex_digits.find(hex[i]) << 4 | hex_digits.find(hex[i + 1]));
  return base64(bytes);
}

std::string piece_named(std::string_view name) {
  return std::string(text_under(name, pieces())) + '\n';
}

std::string document(const std::string& policy, const std::string& title, std::string_view style,
                     const std::string& attributes, const std::string& body, bool is_for_paper) {
  return filled("document", policy, is_for_paper ? "" : filled("metadata"), escaped(title), style, attributes,
                body);
}

std::string paragraphs(const std::vector<std::string>& lines, const char* style) {
  std::string markup;
  for (const auto& line : lines)
    if (!line.empty()) markup += fmt::format("<p{}>{}</p>\n", style, escaped(line));
  return markup;
}

std::string paragraphs(const std::string& prose, const char* style) {
  return paragraphs(lines_of(prose), style);
}

std::string formulas(const std::vector<std::string>& lines) {
  std::string markup;
  for (const auto& line : lines)
    if (const auto start = line.find_first_not_of(' '); start != line.npos)
      markup += fmt::format("<div>{}</div>\n", mathml(line.substr(start)));
  return markup.empty() ? "" : fmt::format("<div class=\"formula\">\n{}</div>\n", markup);
}

Columns columns_of(const std::string& line) {
  Columns columns;
  for (const auto cluster : grapheme_clusters(line)) {
    const auto width = display_width(cluster);
    if (width == 0 && !columns.empty()) {
      columns.back() += cluster;
      continue;
    }
    columns.emplace_back(cluster);
    if (width == 2) columns.emplace_back();
  }
  return columns;
}

namespace {

constexpr std::size_t most_choices = 13;  // of a reader: all tables, or one of them
constexpr double rounding_noise = 1e-6;   // which must not choose between two shades

/// "0,1,2,,7,8,9": the places that an elided table shows.
std::string list_of_places(const page::Places& places) {
  std::vector<std::string> texts;
  for (const auto& place : places) texts.push_back(place ? fmt::format("{}", place->index) : "");
  return fmt::format("{}", fmt::join(texts, ","));
}

/// Writes the grids of one table.
class TableWriter {
 public:
  TableWriter(const std::string& id, const page::Table& table, std::size_t number, const Written& written)
      : id_(id), table_(table), written_(written), tensor_number_(number) {}

  std::string write() const {
    std::string markup;
    for (const auto& grid : table_.grids)
      if (grid) markup += sheet(*grid);
    return filled("tables", choices(), markup);
  }

 private:
  std::string name(const page::Grid& grid) const {
    return escaped(id_ + (grid.caption.empty() ? "" : ", " + grid.caption));
  }

  /// Side by side, or one of them.
  std::string choices() const {
    std::vector<std::string> choices = {"side by side"};
    for (const auto& grid : table_.grids)
      if (grid) choices.push_back(grid->caption);
    if (choices.size() < 3 || choices.size() > most_choices || written_) return "";
    std::string markup;
    for (std::size_t i = 0; i < choices.size(); ++i)
      markup +=
          fmt::format("<label><input type=\"radio\" name=\"sheet-{}\" class=\"only-{}\"{}/> {}</label>\n",
                      tensor_number_, i, i == 0 ? " checked=\"checked\"" : "", escaped(choices[i]));
    return fmt::format("<fieldset class=\"choices\"><legend>Show</legend>\n{}</fieldset>\n", markup);
  }

  std::string sheet(const page::Grid& grid) const {
    page::Places rows;
    std::string body, elided;
    for (const auto& row : grid.rows) {
      rows.push_back(row.place);
      body += this->row(row);
    }
    if (table_.is_elided)
      elided = fmt::format(" data-rows=\"{}\" data-columns=\"{}\"", list_of_places(rows),
                           list_of_places(grid.columns));
    return filled("sheet", name(grid), tensor_number_, grid.first, elided, caption(grid), head(grid), body);
  }

  /// "weights, head 0: a row for each query, a column for each key".
  std::string caption(const page::Grid& grid) const {
    const auto rows = table_.has_rows() ? fmt::format("a row for each {}, ", table_.row_axis) : "";
    return fmt::format("<b>{}</b> <span>{}a column for each {}</span>", name(grid), escaped(rows),
                       escaped(table_.column_axis));
  }

  std::string head(const page::Grid& grid) const {
    auto cells = fmt::format("<th scope=\"col\">{}</th>", escaped(table_.corner()));
    for (const auto& place : grid.columns)
      cells += fmt::format("<th scope=\"col\">{}</th>", place ? escaped(place->label) : "…");
    if (table_.are_shares()) cells += "<th scope=\"col\" class=\"strongest\">strongest</th>";
    return fmt::format("<thead><tr>{}</tr></thead>\n", cells);
  }

  std::string row(const page::Row& row) const {
    constexpr const char* left_out = "<td class=\"gap\">…</td>";
    const auto name = !row.place          ? "…"
                      : table_.has_rows() ? row.place->label
                                          : std::string(last_of_path(id_));
    auto cells = fmt::format("<th scope=\"row\">{}</th>", escaped(name));
    for (const auto& cell : row.cells) cells += cell ? this->cell(*cell) : left_out;
    if (table_.are_shares()) cells += row.place ? strongest(row) : "<td class=\"gap\"></td>";
    return fmt::format("<tr>{}</tr>\n", cells);
  }

  std::string cell(const page::Cell& cell) const {
    if (written_) {
      const auto written = written_(cell.offset);
      return written.empty() ? "<td class=\"blank\"></td>" : fmt::format("<td>{}</td>", escaped(written));
    }
    const auto& shown = table_.are_shares() && cell.value == 0.0 ? "·" : cell.number;
    const auto style = shade(cell.value);
    return (style.empty() ? "<td>" : "<td class=\"" + style + "\">") + shown + "</td>";
  }

  /// Of a share "s1" to "s10", of a mask "seen", of another number "p1" to "p8" or, below 0, "n1" to "n8".
  std::string shade(double value) const {
    const auto level = [](double part, int levels) {
      return std::clamp(static_cast<int>(std::ceil(part * levels - rounding_noise)), 0, levels);
    };
    if (table_.kind == page::Table::Kind::mask) return value != 0.0 ? "seen" : "";
    if (!table_.is_floating || !std::isfinite(value) || table_.largest == 0.0) return "";
    const int steps = table_.are_shares() ? level(value, 10) : level(std::abs(value) / table_.largest, 8);
    if (steps == 0) return "";
    return (table_.are_shares() ? 's' : value < 0.0 ? 'n' : 'p') + std::to_string(steps);
  }

  std::string strongest(const page::Row& row) const {
    if (row.strongest.empty()) return "<td class=\"strongest\"></td>";
    constexpr auto whole = std::numeric_limits<std::size_t>::max();
    return fmt::format("<td class=\"strongest\">{} {}</td>", escaped(page::name_of_strongest(row, whole)),
                       row.strongest.front().number);
  }

  const std::string& id_;
  const page::Table& table_;
  const Written& written_;
  std::size_t tensor_number_;
};

constexpr double column_width = 8.4, line_height = 32.0;
constexpr double half_box = 12.0, box_padding = 6.0;  // of a box: half its height, and beside its words
constexpr double gap = 3.0;                           // between a line and the words that it reaches
constexpr double arrow_length = 6.0, arrow_half_width = 3.5;

/// The sides on which a box-drawing character goes on: left, right, up and down.
std::string_view sides_of(std::string_view character) {
  static const std::map<std::string_view, std::string_view> sides = {
      {"─", "lr"},  {"│", "ud"},  {"┌", "rd"},  {"┐", "ld"},  {"└", "ru"},  {"┘", "lu"},
      {"├", "rud"}, {"┤", "lud"}, {"┬", "lrd"}, {"┴", "lru"}, {"┼", "lrud"}};
  const auto found = sides.find(character);
  return found == sides.end() ? "" : found->second;
}

bool is_line(std::string_view cell) {
  return !sides_of(cell).empty() || cell == "→" || cell == "←" || cell == "↑" || cell == "↓";
}

/// Words of the diagram from one column to before another.
struct Words {
  std::size_t first, last;
  std::string text;
  std::string address{};   ///< empty where they lead nowhere
  bool has_shape = false;  ///< "name [shape]", which is a box where it leads somewhere

  bool is_box() const { return has_shape && !address.empty(); }
};

/// Whether there is something else than a line or a blank.
bool has_words(const Columns& cells, std::size_t column) {
  return column < cells.size() && cells[column] != " " && !is_line(cells[column]);
}

/// Words end at a line, an arrow or two spaces.
std::vector<Words> words_of(const Columns& cells) {
  std::vector<Words> all;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const bool is_between = i > 0 && cells[i] == " " && has_words(cells, i - 1) && has_words(cells, i + 1);
    if (!has_words(cells, i) && !is_between) continue;
    if (all.empty() || all.back().last < i) all.push_back({i, i, ""});
    all.back().text += cells[i];
    all.back().last = i + 1;
  }
  return all;
}

double x_of(std::size_t column) {
  return static_cast<double>(column) * column_width;
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
    return {filled("flow", width, height, -box_padding - 1, path_, arrows_, elements_), width, height};
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

  /// Where a line that leaves a column to the left or to the right ends: at what stands there.
  double end_of(std::size_t line, std::size_t column, bool is_left) const {
    const auto& cells = lines_[line];
    const std::size_t step = is_left ? static_cast<std::size_t>(-1) : 1;  // 0 − 1 is no column
    for (auto i = column + step; i < cells.size(); i += step)
      if (cells[i] != " ") return is_left ? edges_of(line, i).second : edges_of(line, i).first;
    return is_left ? x_of(column) - column_width / 2 : x_of(column + 1);
  }

  /// Of the words or the box at a column, or of the line there.
  std::pair<double, double> edges_of(std::size_t line, std::size_t column) const {
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

  /// What joins or branches off ends with an arrow at the words that it reaches.
  void draw_line(std::size_t line, std::size_t column) {
    const auto& cell = lines_[line][column];
    const double x = x_of(column) + column_width / 2, y = y_of(line), up = y - line_height / 2,
                 down = y + line_height / 2;
    if (cell == "→") draw_arrow(end_of(line, column, true), y, end_of(line, column, false), y);
    if (cell == "←") draw_arrow(end_of(line, column, false), y, end_of(line, column, true), y);
    if (cell == "↑") draw_arrow(x, down, x, up);
    if (cell == "↓") draw_arrow(x, up, x, down);
    const auto goes = [sides = sides_of(cell)](char side) { return sides.find(side) != sides.npos; };
    const bool is_corner = goes('l') != goes('r') && goes('u') != goes('d');
    const bool branches = (goes('u') || goes('d')) && goes('r');
    auto next = column + 1;
    while (next < lines_[line].size() && lines_[line][next] == " ") ++next;
    if (goes('l')) path_ += segment(end_of(line, column, true), y, x, y);
    if (branches && has_words(lines_[line], next))
      draw_arrow(x, y, end_of(line, column, false), y);
    else if (goes('r'))
      path_ += segment(x, y, end_of(line, column, false), y);
    if (is_corner && goes('l') && goes('u') && line > 0 && has_words(lines_[line - 1], column))
      draw_arrow(x, y, x, up);
    else if (goes('u'))
      path_ += segment(x, up, x, y);
    if (goes('d')) path_ += segment(x, y, x, down);
  }

  void draw_words(std::size_t line, const Words& words) {
    const double x = x_of(words.first), y = y_of(line), length = x_of(words.last) - x;
    const bool is_link = !words.address.empty() && words.address != nowhere;
    elements_ +=
        filled(words.is_box() ? "flow box" : "flow words", is_link ? "a" : "g",
               is_link ? fmt::format(" href=\"{}\"", escaped(words.address)) : "", x, y + 4.5, length,
               escaped(words.text), x - box_padding, y - half_box, length + 2 * box_padding, 2 * half_box);
  }

  std::vector<Columns> lines_;
  std::vector<std::vector<Words>> words_;
  std::size_t columns_ = 0;
  std::string path_, arrows_, elements_;
};

}  // namespace

std::string table_markup(const std::string& id, const page::Table& table, std::size_t number,
                         const Written& written) {
  return TableWriter(id, table, number, written).write();
}

svg::Drawing flow_drawing(const std::string& diagram, const Target& target) {
  return FlowDrawing(diagram, target).draw();
}

}  // namespace attn::html
