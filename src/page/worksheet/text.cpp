#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "attn/text/printable.hpp"
#include "attn/text/width.hpp"
#include "page/worksheet/render.hpp"
#include "trace/diagnosis/catalogue.hpp"
#include "trace/wording.hpp"

namespace attn {

namespace {

constexpr std::size_t page_width = 80;
constexpr std::size_t widest_blank = 9, narrowest_blank = 5;

/// What stands in the cells of a table.
enum class Cells { numbers, blanks, answers };

/// A label as it can stand beside the bars of a table.
std::string label_of(const page::Place& place) {
  auto label = printable(place.label);
  for (auto at = label.find('|'); at != label.npos; at = label.find('|', at)) label.replace(at, 1, "¦");
  return label;
}

/// A tensor as tables, with bars where something is to be written in.
class SheetTable {
 public:
  SheetTable(const SheetTensor& tensor, Cells cells) : tensor_(tensor), table_(tensor.table), cells_(cells) {
    const auto& columns = table_.grids.front()->columns;
    left_ = display_width(corner());
    for (const auto& row : table_.grids.front()->rows) left_ = std::max(left_, display_width(row_label(row)));
    const auto room = (page_width - left_ - 8) / columns.size();
    width_ = cells == Cells::numbers
                 ? 2
                 : std::clamp(room - std::min<std::size_t>(room, 3), narrowest_blank, widest_blank);
    for (const auto& column : columns) width_ = std::max(width_, display_width(label_of(*column)));
    if (cells != Cells::blanks)
      for (const auto& number : tensor.written) width_ = std::max(width_, display_width(number));
  }

  std::string text() const {
    std::string text;
    for (const auto& grid : table_.grids) {
      if (!grid->caption.empty()) text += "     " + printable(grid->caption) + '\n';
      text += head(*grid);
      for (const auto& row : grid->rows) text += line(row_label(row), written(row), has_bars());
    }
    return text;
  }

 private:
  bool has_bars() const { return cells_ != Cells::numbers; }
  const std::string& corner() const { return table_.row_axis.empty() ? table_.column_axis : table_.row_axis; }

  std::string row_label(const page::Row& row) const {
    return table_.row_axis.empty() ? std::string(last_of_path(tensor_.event.id)) : label_of(*row.place);
  }

  std::string line(const std::string& label, const std::vector<std::string>& cells, bool has_marks) const {
    auto text = "     " + pad_right(label, left_);
    for (const auto& cell : cells)
      text += (has_marks ? " | " : has_bars() ? "   " : "  ") + pad_left(cell, width_);
    return text + (has_marks ? " |\n" : "\n");
  }

  std::string head(const page::Grid& grid) const {
    std::vector<std::string> labels;
    for (const auto& column : grid.columns) labels.push_back(label_of(*column));
    return line(corner(), labels, false);
  }

  std::vector<std::string> written(const page::Row& row) const {
    std::vector<std::string> cells;
    for (const auto& cell : row.cells)
      cells.push_back(cells_ == Cells::blanks ? std::string(width_, '_') : tensor_.written[cell.offset]);
    return cells;
  }

  const SheetTensor& tensor_;
  const page::Table& table_;
  Cells cells_;
  std::size_t left_ = 0, width_ = 0;
};

/// "1  scores = Q Kᵀ   How well …?   [query 3 × key 3]": in one line where it fits.
std::string heading(const std::string& start, const SheetTensor& tensor) {
  const auto& event = tensor.event;
  auto definition = start + event.id;
  const auto formula = event.formula.substr(0, event.formula.find('\n'));
  if (!formula.empty()) definition += (event.id.find('=') == event.id.npos ? " = " : ": ") + formula;
  const auto& shape = tensor.named_shape;
  const auto title = event.title.empty() ? "" : "   " + event.title;
  const auto line = definition + title;
  const auto room = page_width - display_width(shape) - 2;
  if (display_width(line) <= room) return pad_right(line, page_width - display_width(shape)) + shape + '\n';
  std::string text = display_width(definition) <= room
                         ? pad_right(definition, page_width - display_width(shape)) + shape + '\n'
                         : definition + '\n' + pad_left(shape, page_width) + '\n';
  return text +
         (title.empty() ? "" : paragraph(event.title, page_width, std::max<std::size_t>(start.size(), 3)));
}

std::string indented(const std::string& lines) {
  std::string text;
  for (const auto& line : lines_of(lines)) text += "      " + line + '\n';
  return text;
}

std::string rule_of_page() {
  std::string rule;
  for (std::size_t i = 0; i < page_width; ++i) rule += "─";
  return rule + '\n';
}

std::string name_line() {
  return "  Name: " + std::string(page_width - 8, '_') + '\n';
}

/// The title and the command that prints the page, by which `read_answers` knows it.
std::string head_of_page(const Sheet& sheet, const std::string& title) {
  return paragraph(fmt::format("worksheet {}: {}", sheet.lesson, title), page_width, 0) + rule_of_page() +
         fmt::format("  {}\n", sheet.command) +
         (sheet.numbers.empty() ? "" : fmt::format("  The numbers are {}.\n", sheet.numbers)) + '\n';
}

std::string without_last_gap(std::string page) {
  if (page.ends_with("\n\n")) page.pop_back();
  return page;
}

std::string blank_page(const Sheet& sheet) {
  auto text = head_of_page(sheet, sheet.title) + name_line() + "\nThe idea\n";
  text += paragraph(sheet.idea, page_width, 2) + '\n' + indented(sheet.formula);
  if (!sheet.rule.empty()) text += '\n' + paragraph(sheet.rule, page_width, 2);
  text +=
      "\nHow to fill it in\n" + paragraph(how_to_fill_in(sheet, true), page_width, 2) + "\nWhat is given\n";
  for (const auto& one : sheet.given)
    text += heading("  ", one) + SheetTable(one, Cells::numbers).text() + '\n';
  std::size_t number = 0;
  for (const auto& step : sheet.asked) {
    text += heading(fmt::format("{}  ", ++number), step);
    if (number == 1 && !step.example.empty()) text += paragraph("For example " + step.example, page_width, 3);
    text += SheetTable(step, Cells::blanks).text() + '\n';
  }
  for (const auto& step : sheet.unchanged)
    text += paragraph(step + " changes no number here.", page_width, 2);
  return without_last_gap(text);
}

std::string answer_page(const Sheet& sheet) {
  auto text = head_of_page(sheet, "the answers");
  std::size_t number = 0;
  for (const auto& step : sheet.asked) {
    text += heading(fmt::format("{}  ", ++number), step);
    if (!step.worked.empty()) text += paragraph(step.worked, page_width, 3);
    text += SheetTable(step, Cells::answers).text() + '\n';
  }
  return without_last_gap(text);
}

}  // namespace

std::string how_to_fill_in(const Sheet& sheet, bool to_type_in) {
  const auto decimals = sheet.rule.empty()
                            ? "A decimal counts as rounded in its last digit: two digits after the "
                              "point will do."
                            : "A decimal counts as rounded in its last digit.";
  const bool asks_for_infinity = std::any_of(sheet.asked.begin(), sheet.asked.end(),
                                             [](const auto& step) { return contains(step.written, "-inf"); });
  return fmt::format(
      "{} numbers. Write whole numbers, decimals, fractions (3/7) or roots (sqrt(2)/2). {}{} Each step is "
      "judged from your own numbers before it. To check this sheet{}: attnlab check {} FILE",
      sheet.blanks(), asks_for_infinity ? "Write −∞ as -inf. " : "", decimals,
      to_type_in ? "" : ", type it into the text sheet that its command prints", sheet.lesson);
}

std::string sheet_as_text(const Sheet& sheet, SheetPages pages) {
  if (pages == SheetPages::sheet) return blank_page(sheet);
  if (pages == SheetPages::answers) return answer_page(sheet);
  return blank_page(sheet) + '\f' + answer_page(sheet);
}

}  // namespace attn
