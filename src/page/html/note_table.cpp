#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "attn/text/width.hpp"
#include "page/html/markup.hpp"
#include "page/text/plain.hpp"
#include "trace/wording.hpp"

namespace attn::html {

namespace {

using Lines = std::vector<std::string>;

/// From one column of a terminal to before another.
struct Range {
  std::size_t first = 0, last = 0;
};

/// What a row has in one column of its table, where it stood, and what further lines add to it.
struct Cell {
  std::string text;
  Range place;
  std::string further;
};

struct Row {
  std::vector<Cell> cells{};
  bool begins_part = false;  ///< behind an empty line
};

using Rows = std::vector<Row>;

bool is_blank(const Columns& line, std::size_t column) {
  return column >= line.size() || line[column] == " ";
}

bool has_text(const Columns& line, std::size_t first, std::size_t last) {
  for (auto i = first; i < std::min(last, line.size()); ++i)
    if (!is_blank(line, i)) return true;
  return false;
}

/// Whether a gap parts columns. A word may reach up to it, and the next begin right behind it, in a few
/// lines, but then most lines have text on both sides of it.
bool parts_columns(const std::vector<Columns>& lines, std::size_t begin, const Range& gap, std::size_t end) {
  std::size_t count = 0, crossed = 0, before = 0, behind = 0;
  const bool is_narrow = gap.last - gap.first == 1;
  for (const auto& line : lines) {
    if (!line.empty()) ++count;
    if (is_narrow && !is_blank(line, gap.first - 1) && !is_blank(line, gap.last)) ++crossed;
    if (has_text(line, begin, gap.first)) ++before;
    if (has_text(line, gap.last, end)) ++behind;
  }
  return crossed == 0 || (2 * crossed <= behind && 2 * before > count && 2 * behind > count);
}

std::size_t width_of(const std::vector<Columns>& lines) {
  std::size_t width = 0;
  for (const auto& line : lines) width = std::max(width, line.size());
  return width;
}

/// Columns of a terminal that are blank in all lines, after the first column that is not, and part columns of
/// a table.
std::vector<Range> gaps_between(const std::vector<Columns>& lines) {
  const auto width = width_of(lines);
  const auto end_of = [&](std::size_t first, bool are_blank) {
    const auto is_empty = [&](std::size_t column) {
      return all_of(lines, [&](const auto& line) { return is_blank(line, column); });
    };
    while (first < width && is_empty(first) == are_blank) ++first;
    return first;
  };
  std::vector<Range> gaps;
  for (auto blank = end_of(end_of(0, true), false); blank < width;) {
    const Range gap{blank, end_of(blank, true)};
    blank = end_of(gap.last, false);
    if (parts_columns(lines, gaps.empty() ? 0 : gaps.back().last, gap, blank)) gaps.push_back(gap);
  }
  return gaps;
}

Cell cell_at(const Columns& line, Range place) {
  place.last = std::min(place.last, line.size());
  while (place.first < place.last && is_blank(line, place.first)) ++place.first;
  while (place.last > place.first && is_blank(line, place.last - 1)) --place.last;
  Cell cell{"", place, ""};
  for (auto i = place.first; i < place.last; ++i) cell.text += line[i];
  return cell;
}

Row row_of(const Columns& line, const std::vector<Range>& gaps) {
  Row row;
  std::size_t first = 0;
  for (const auto& gap : gaps)
    row.cells.push_back(cell_at(line, {std::exchange(first, gap.last), gap.first}));
  row.cells.push_back(cell_at(line, {first, line.size()}));
  return row;
}

bool is_number(const std::string& text) {
  static const auto signs = std::string_view("0123456789.,+-e% ");
  if (text == "inf" || text == "nan" || text == "–" || text == "·") return true;
  const auto digits = text.starts_with("−") ? text.substr(std::string_view("−").size()) : text;
  return digits.find_first_of("0123456789") != digits.npos && digits.find_first_not_of(signs) == digits.npos;
}

/// Whether each cell of a column that has text satisfies the condition, from that row on, and one has text.
template <typename Condition>
bool is_column_of(const Rows& rows, std::size_t column, std::size_t first_row, const Condition& condition) {
  bool is_empty = true;
  for (auto i = first_row; i < rows.size(); ++i) {
    const auto& cell = rows[i].cells[column];
    if (cell.text.empty()) continue;
    if (!condition(cell)) return false;
    is_empty = false;
  }
  return !is_empty;
}

bool is_column_of_numbers(const Rows& rows, std::size_t column, std::size_t first_row) {
  return is_column_of(rows, column, first_row, [](const Cell& cell) { return is_number(cell.text); });
}

/// Equations one below the other, with their signs aligned, or conclusions.
bool are_equations(const Rows& rows) {
  const auto is_right_side = [](const Cell& cell) { return cell.text.starts_with("="); };
  const auto is_sign = [](const Cell& cell) { return cell.text == "⇒"; };
  for (std::size_t column = 1; column < rows[0].cells.size(); ++column)
    if (is_column_of(rows, column, 0, is_right_side)) return true;
  return any_of(rows, [&](const Row& row) { return any_of(row.cells, is_sign); });
}

bool has_header(const Rows& rows) {
  const auto& first = rows[0].cells;
  if (any_of(first, [](const Cell& cell) { return is_number(cell.text); })) return false;
  if (first[0].text.empty()) return true;
  for (std::size_t column = 0; column < first.size(); ++column)
    if (!first[column].text.empty() && is_column_of_numbers(rows, column, 1)) return true;
  return false;
}

/// Of numbers, or of what ends in one column of the terminal without beginning in one.
bool is_aligned_right(const Rows& rows, std::size_t column, std::size_t first_row) {
  if (is_column_of_numbers(rows, column, first_row)) return true;
  std::optional<Range> first;
  bool do_starts_differ = false;
  const bool do_ends_agree = is_column_of(rows, column, first_row, [&](const Cell& cell) {
    if (!first) first = cell.place;
    do_starts_differ = do_starts_differ || cell.place.first != first->first;
    return cell.place.last == first->last;
  });
  return do_ends_agree && do_starts_differ;
}

/// What stands between a line and the next: nothing but a space where words go on and the next one had no
/// room on the line.
const char* joint(const Columns& line, const std::string& next, std::size_t most_columns) {
  const auto is_letter = [](char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; };
  const char last = line.back().size() == 1 ? line.back()[0] : '\0';
  const bool do_words_go_on =
      (is_letter(last) || std::string_view(",.:)").find(last) != std::string_view::npos) &&
      (is_letter(next[0]) || next[0] == '[');
  const bool is_full = line.size() + 1 + display_width(next.substr(0, next.find(' '))) > most_columns;
  return do_words_go_on && is_full ? " " : "<br/>";
}

/// The only cell of a row that has text, if it is not the first.
const Cell* continuation(const Row& row) {
  const Cell* found = nullptr;
  for (const auto& cell : row.cells) {
    if (cell.text.empty()) continue;
    if (found != nullptr) return nullptr;
    found = &cell;
  }
  return row.cells[0].text.empty() ? found : nullptr;
}

/// The rows of lines that are laid out in the same columns, with their further lines; none where they are
/// not. An empty line begins a part.
Rows rows_of(const Lines& lines) {
  std::vector<Columns> all;
  for (const auto& line : lines) all.push_back(columns_of(line));
  const auto gaps = gaps_between(all);
  if (gaps.empty()) return {};
  Rows rows;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (lines[i].empty()) continue;
    auto row = row_of(all[i], gaps);
    row.begins_part = i == 0 || lines[i - 1].empty();
    const auto* further = continuation(row);
    if (further == nullptr || row.begins_part) {
      rows.push_back(std::move(row));
      continue;
    }
    auto& above = rows.back().cells[static_cast<std::size_t>(further - row.cells.data())];
    above.further += joint(all[i - 1], further->text, width_of(all)) + escaped(further->text);
  }
  return rows.size() < 2 || are_equations(rows) ? Rows() : rows;
}

std::string row_markup(const Row& row, bool is_header, const std::vector<bool>& is_right) {
  std::string markup;
  for (std::size_t column = 0; column < row.cells.size(); ++column) {
    const auto& cell = row.cells[column];
    const bool is_head = !cell.text.empty() && (is_header || column == 0);
    markup += fmt::format("<{0}{1}{2}>{3}{4}</{0}>", is_head ? "th" : "td",
                          !is_head    ? ""
                          : is_header ? " scope=\"col\""
                                      : " scope=\"row\"",
                          is_right[column] ? " class=\"right\"" : "", escaped(cell.text), cell.further);
  }
  return "<tr>" + markup + "</tr>";
}

/// All parts have the same columns, of which the first row may name them.
std::string table_markup(const Rows& rows, const std::string& name) {
  const std::size_t first_row = has_header(rows) ? 1 : 0;
  std::vector<bool> is_right;
  for (std::size_t column = 0; column < rows[0].cells.size(); ++column)
    is_right.push_back(column > 0 && is_aligned_right(rows, column, first_row));
  std::string markup;
  if (first_row == 1) markup = fmt::format("<thead>{}</thead>\n", row_markup(rows[0], true, is_right));
  markup += "<tbody>\n";
  for (auto i = first_row; i < rows.size(); ++i) {
    if (rows[i].begins_part && i > 0) markup += "</tbody><tbody>\n";
    markup += row_markup(rows[i], false, is_right) + "\n";
  }
  markup += "</tbody>";
  return filled("words", escaped(name), markup);
}

/// Sentences that were broken for the width of a terminal.
std::string paragraph_markup(const Lines& texts) {
  std::vector<Columns> lines;
  for (const auto& text : texts) lines.push_back(columns_of(text));
  std::string markup = escaped(texts[0]);
  for (std::size_t i = 1; i < texts.size(); ++i)
    markup += joint(lines[i - 1], texts[i], width_of(lines)) + escaped(texts[i]);
  return "<p>" + markup + "</p>\n";
}

/// Lines between two empty ones.
struct Part {
  Lines lines;
  std::string heading{};  ///< a line above a table
  Rows rows{};            ///< none where it is no table
};

std::size_t column_count(const Rows& rows) {
  return rows.empty() ? 0 : rows[0].cells.size();
}

/// A first line without columns heads the table where the lines below it have more columns than with it.
Part part_of(const Lines& lines) {
  auto rows = rows_of(lines);
  if (lines.size() < 3 || lines[0].find("  ") != lines[0].npos) return {lines, "", std::move(rows)};
  auto rows_below = rows_of({lines.begin() + 1, lines.end()});
  if (column_count(rows_below) <= column_count(rows)) return {lines, "", std::move(rows)};
  return {lines, lines[0], std::move(rows_below)};
}

std::vector<Part> parts_of(const Lines& lines) {
  std::vector<Part> parts;
  for (auto begin = lines.begin(); begin != lines.end();) {
    const auto end = std::find(begin, lines.end(), "");
    if (begin != end) parts.push_back(part_of({begin, end}));
    begin = end == lines.end() ? end : end + 1;
  }
  return parts;
}

/// The rows of all parts, where an empty line only parts the rows of one table.
Rows rows_of_one_table(const Lines& lines, const std::vector<Part>& parts) {
  auto rows = rows_of(lines);
  const bool is_one = !rows.empty() && all_of(parts, [&](const Part& part) {
    return part.heading.empty() && (part.lines.size() == 1 || column_count(part.rows) == column_count(rows));
  });
  return is_one ? rows : Rows();
}

std::string markup_of(const Part& part, const std::string& name) {
  if (!part.rows.empty())
    return (part.heading.empty() ? "" : paragraph_markup({part.heading})) + table_markup(part.rows, name);
  const auto is_laid_out = [](const std::string& line) { return line.find("  ") != line.npos; };
  return any_of(part.lines, is_laid_out) ? preformatted(fmt::format("{}", fmt::join(part.lines, "\n")), name)
                                         : paragraph_markup(part.lines);
}

}  // namespace

std::string preformatted(const std::string& text, const std::string& name) {
  std::vector<std::string> lines;
  for (const auto& line : lines_of(text)) lines.push_back(escaped(line));
  return fmt::format("<pre tabindex=\"0\" role=\"group\" aria-label=\"{}\"><code>{}</code></pre>\n",
                     escaped(name), fmt::join(lines, "\n"));
}

std::string note_markup(const std::string& text, const std::string& name) {
  const auto lines = lines_of(text);
  const auto parts = is_drawing(text) || is_picture(text) ? std::vector<Part>() : parts_of(lines);
  if (all_of(parts, [](const Part& part) { return part.rows.empty(); })) return preformatted(text, name);
  if (const auto rows = rows_of_one_table(lines, parts); !rows.empty()) return table_markup(rows, name);
  std::string markup;
  for (const auto& part : parts) markup += markup_of(part, name);
  return markup;
}

}  // namespace attn::html
