#include "page/worksheet/sheet.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <utility>
#include <vector>

#include "attn/text/width.hpp"
#include "page/builder.hpp"
#include "page/html/markup.hpp"
#include "page/text/plain.hpp"
#include "trace/diagnosis/catalogue.hpp"
#include "trace/wording.hpp"

namespace attn {

namespace {

constexpr std::size_t sentences_of_idea = 3;
constexpr int precision_of_worked = 4;
constexpr std::size_t page_width = 80, widest_blank = 9, narrowest_blank = 5;

/// Every number, which nobody elides, shades or marks as hidden.
page::Table whole_table(Event event) {
  event.distribution = false;
  return page::table_of(event, precision_of_worked, element_count(event.tensor->shape));
}

std::vector<std::string> sentences_in(const std::string& text) {
  std::vector<std::string> sentences;
  for (std::size_t start = 0; start < text.size();) {
    const auto end = std::min(text.find(". ", start), text.size() - 1) + 1;
    sentences.push_back(text.substr(start, end - start));
    start = end + 1;
  }
  return sentences;
}

constexpr const char* softmax_rule = "softmax(x)ⱼ = exp(xⱼ) / Σᵢ exp(xᵢ)";
constexpr const char* sum_rule = "shares(x)ⱼ = xⱼ / Σᵢ xᵢ";

/// What stands in the cells of a table.
enum class Cells { numbers, blanks, answers };

std::string first_line_of(const Event& event) {
  return event.formula.substr(0, event.formula.find('\n'));
}

/// A label as it can stand beside the bars of a table.
std::string label_of(const page::Place& place) {
  return replaced(printable(place.label), "|", "¦");
}

std::string label_of_row(const SheetTensor& tensor, const page::Row& row) {
  return tensor.table.has_rows() ? label_of(*row.place) : std::string(last_of_path(tensor.event.id));
}

/// A tensor as tables, with bars where something is to be written in.
std::string tables_as_text(const SheetTensor& tensor, Cells cells) {
  const auto& table = tensor.table;
  const auto& first = *table.grids.front();
  const bool has_bars = cells != Cells::numbers;
  std::size_t left = display_width(table.corner());
  for (const auto& row : first.rows) left = std::max(left, display_width(label_of_row(tensor, row)));
  const auto room = (page_width - left - 8) / first.columns.size();
  auto width = has_bars ? std::clamp(room - std::min<std::size_t>(room, 3), narrowest_blank, widest_blank)
                        : std::size_t{2};
  for (const auto& column : first.columns) width = std::max(width, display_width(label_of(*column)));
  if (cells != Cells::blanks)
    for (const auto& number : tensor.written) width = std::max(width, display_width(number));
  std::string text;
  const auto add_line = [&](const std::string& label, const std::vector<std::string>& row, bool has_marks) {
    text += "     " + pad_right(label, left);
    for (const auto& cell : row)
      text += (has_marks ? " | " : has_bars ? "   " : "  ") + pad_left(cell, width);
    text += has_marks ? " |\n" : "\n";
  };
  for (const auto& grid : table.grids) {
    if (!grid->caption.empty()) text += "     " + printable(grid->caption) + '\n';
    std::vector<std::string> labels;
    for (const auto& column : grid->columns) labels.push_back(label_of(*column));
    add_line(table.corner(), labels, false);
    for (const auto& row : grid->rows) {
      std::vector<std::string> written;
      for (const auto& cell : row.cells)
        written.push_back(cells == Cells::blanks ? std::string(width, '_') : tensor.written[cell->offset]);
      add_line(label_of_row(tensor, row), written, has_bars);
    }
  }
  return text;
}

/// "scores = Q Kᵀ", "T=1/output: weights · values".
std::string sheet_definition(const Event& event) {
  const auto formula = first_line_of(event);
  return event.id + (formula.empty() ? "" : (event.id.find('=') == event.id.npos ? " = " : ": ") + formula);
}

/// "1  scores = Q Kᵀ   How well …?   [query 3 × key 3]".
std::string heading(const std::string& start, const SheetTensor& tensor) {
  const auto lines = with_title({start + sheet_definition(tensor.event)}, tensor.event.title,
                                tensor.named_shape, page_width, std::max<std::size_t>(start.size(), 3));
  return fmt::format("{}\n", fmt::join(lines, "\n"));
}

/// The title and the command that prints the page, by which `read_answers` knows it.
std::string head_of_page(const Sheet& sheet, const std::string& title) {
  return paragraph(fmt::format("worksheet {}: {}", sheet.lesson, title), page_width, 0) +
         fmt::format("{}\n  {}\n{}\n", rule(page_width), sheet.command,
                     sheet.numbers.empty() ? "" : fmt::format("  The numbers are {}.\n", sheet.numbers));
}

/// What is worked out of a step: of answers the entry that a page shows, of blanks an example of the first.
std::string worked_in(const Sheet& sheet, const SheetTensor& step, Cells cells) {
  if (cells == Cells::answers) return step.worked;
  return &step == &sheet.asked.front() && !step.example.empty() ? "For example " + step.example : "";
}

std::string steps_of_page(const Sheet& sheet, Cells cells) {
  std::string text;
  std::size_t number = 0;
  for (const auto& step : sheet.asked) {
    text += heading(fmt::format("{}  ", ++number), step);
    if (const auto worked = worked_in(sheet, step, cells); !worked.empty())
      text += paragraph(worked, page_width, 3);
    text += tables_as_text(step, cells) + '\n';
  }
  return text;
}

/// What may be written in a blank, and how it is checked, in a sentence or two. A sheet `to_type_in` is one
/// that check reads.
std::string how_to_fill_in(const Sheet& sheet, bool to_type_in) {
  const bool asks_for_infinity =
      any_of(sheet.asked, [](const auto& step) { return contains(step.written, "-inf"); });
  return fmt::format(
      "{} numbers. Write whole numbers, decimals, fractions (3/7) or roots (sqrt(2)/2). {}A decimal counts "
      "as rounded in its last digit{}. Each step is judged from your own numbers before it. To check this "
      "sheet{}: attnlab check {} FILE",
      sheet.blanks(), asks_for_infinity ? "Write −∞ as -inf. " : "",
      sheet.rule.empty() ? ": two digits after the point will do" : "",
      to_type_in ? "" : ", type it into the text sheet that its command prints", sheet.lesson);
}

std::string blank_page(const Sheet& sheet) {
  auto text = head_of_page(sheet, sheet.title) + "  Name: " + std::string(page_width - 8, '_') +
              "\n\nThe idea\n" + paragraph(sheet.idea, page_width, 2) + '\n' +
              hanging(std::string(6, ' '), lines_of(sheet.formula), 6);
  if (!sheet.rule.empty()) text += '\n' + paragraph(sheet.rule, page_width, 2);
  text +=
      "\nHow to fill it in\n" + paragraph(how_to_fill_in(sheet, true), page_width, 2) + "\nWhat is given\n";
  for (const auto& one : sheet.given) text += heading("  ", one) + tables_as_text(one, Cells::numbers) + '\n';
  text += steps_of_page(sheet, Cells::blanks);
  for (const auto& step : sheet.unchanged)
    text += paragraph(step + " changes no number here.", page_width, 2);
  return text;
}

std::string without_last_gap(std::string page) {
  if (page.ends_with("\n\n")) page.pop_back();
  return page;
}

using html::escaped;

std::string definition_for_paper(const SheetTensor& tensor) {
  const auto& event = tensor.event;
  auto markup = fmt::format("<span class=\"name\">{}</span>", escaped(event.id));
  if (const auto formula = first_line_of(event); !formula.empty())
    markup += (event.id.find('=') == event.id.npos ? " <span class=\"is\">=</span> " : ": ") +
              html::mathml(printable(formula));
  return fmt::format("<span class=\"definition\">{}</span><span class=\"shape\">{}</span>", markup,
                     escaped(tensor.named_shape));
}

class PaperPage {
 public:
  explicit PaperPage(const Sheet& sheet) : sheet_(sheet) {}

  std::string blank() {
    std::string given, unchanged;
    for (const auto& one : sheet_.given) given += tables(one, Cells::numbers);
    for (const auto& step : sheet_.unchanged)
      unchanged += html::paragraphs(step + " changes no number here.");
    return html::filled("blank worksheet", head(sheet_.title), html::paragraphs(sheet_.idea),
                        html::formulas(lines_of(sheet_.formula)), html::paragraphs(sheet_.rule),
                        html::paragraphs(how_to_fill_in(sheet_, false), " class=\"legend\""), given,
                        steps(Cells::blanks), unchanged);
  }

  std::string answers() {
    return html::filled("answers of worksheet", fits_half() ? "" : " wide", head("the answers"),
                        steps(Cells::answers));
  }

 private:
  /// Whether each definition fits half the width of the paper: a formula does not wrap.
  bool fits_half() const {
    constexpr std::size_t columns = 34;
    return all_of(sheet_.asked, [](const SheetTensor& step) {
      return display_width(step.event.id + " = " + first_line_of(step.event)) <= columns;
    });
  }

  std::string head(const std::string& title) const {
    return html::filled("head of worksheet", escaped(sheet_.lesson), escaped(title), escaped(sheet_.command),
                        sheet_.numbers.empty() ? "" : " · The numbers are " + escaped(sheet_.numbers) + ".");
  }

  std::string tables(const SheetTensor& tensor, Cells cells) {
    return html::table_markup(tensor.event.id, tensor.table, ++tables_, [&](std::size_t offset) {
      return cells == Cells::blanks ? std::string() : tensor.written[offset];
    });
  }

  std::string steps(Cells cells) {
    std::string markup;
    std::size_t number = 0;
    for (const auto& step : sheet_.asked)
      markup += html::filled("step of worksheet", ++number, definition_for_paper(step),
                             html::paragraphs(step.event.title, " class=\"title\""),
                             html::paragraphs(worked_in(sheet_, step, cells), " class=\"worked\""),
                             tables(step, cells));
    return markup;
  }

  const Sheet& sheet_;
  std::size_t tables_ = 0;
};

std::string in_quotes(const std::string& text) {
  return nlohmann::json(text).dump();
}

/// A number of JSON as it is, a fraction or an infinity as text.
std::string json_of(const std::string& written) {
  return written.find_first_not_of("-0123456789.") == std::string::npos ? written : in_quotes(written);
}

/// Nested lists with a line for each row.
std::string nested_lists_of(const SheetTensor& tensor, std::size_t axis, std::size_t offset,
                            bool with_answers) {
  const auto& shape = tensor.numbers.shape();
  std::vector<std::string> items;
  std::size_t size = 1;
  for (auto after = axis + 1; after < shape.size(); ++after) size *= shape[after];
  for (std::size_t i = 0; i < shape[axis]; ++i) {
    const auto at = offset + i * size;
    if (axis + 1 < shape.size())
      items.push_back(nested_lists_of(tensor, axis + 1, at, with_answers));
    else
      items.push_back(with_answers ? json_of(tensor.written[at]) : "null");
  }
  const auto margin = ",\n" + std::string(axis + 2, ' ');
  return fmt::format("[{}]", fmt::join(items, axis + 1 < shape.size() ? margin : ", "));
}

}  // namespace

std::size_t Sheet::blanks() const {
  return std::accumulate(asked.begin(), asked.end(), std::size_t{0},
                         [](std::size_t sum, const auto& step) { return sum + step.written.size(); });
}

SheetMaker::SheetMaker(const Header& header, std::string command, std::set<std::string_view> given,
                       bool in_fractions)
    : given_(std::move(given)), in_fractions_(in_fractions) {
  sheet_.lesson = header.lesson;
  sheet_.title = header.title;
  sheet_.command = std::move(command);
  sheet_.numbers = header.text(origin_of_numbers);
  if (in_fractions)
    sheet_.rule =
        "Shares are made without exp: shares(x) divides each number by the sum of its row. A number below 0 "
        "and −∞ count as 0. Where a row has no more than zeros, what may be seen gets equal shares.";
}

void SheetMaker::receive(const Event& event) {
  names_.see(event);
  if (event.kind == Kind::note && event.id == "idea") take_idea(event);
  if (!event.tensor || event.tensor->data == nullptr) return;
  SheetTensor one{.event = event,
                  .numbers = AnyTensor(*event.tensor),
                  .named_shape = named_shape(event),
                  .table = event.axes.empty() ? page::Table() : whole_table(event),
                  .written = as_written(event.tensor->numbers(), in_fractions_)};
  if (event.kind == Kind::step && event.worked) {
    one.example = worked_out(event, Index(event.axes.size(), 0));
    if (const auto at = entry_to_work_out(event)) one.worked = worked_out(event, *at);
  }
  one.event.tensor.reset();
  one.event.worked = nullptr;
  const bool asks = event.kind == Kind::step && event.place && !given_.contains(event.id);
  if (asks && changes_nothing(event))
    sheet_.unchanged.push_back(fmt::format("{} = {}", event.id, event.formula));
  else
    (asks ? sheet_.asked : others_).push_back(std::move(one));
}

/// The first sentences; of a sheet without exp those that do not speak of it.
void SheetMaker::take_idea(const Event& idea) {
  auto sentences = sentences_in(idea.note);
  if (in_fractions_)
    std::erase_if(sentences, [](const std::string& sentence) {
      return sentence.find("oftmax") != sentence.npos || sentence.find("exp(") != sentence.npos;
    });
  sentences.resize(std::min(sentences.size(), sentences_of_idea));
  sheet_.idea = fmt::format("{}", fmt::join(sentences, " "));
  sheet_.formula = idea.formula;
  if (sheet_.formula.find(softmax_rule) == std::string::npos)
    sheet_.formula += std::string("\n") + softmax_rule;
  if (in_fractions_)
    sheet_.formula = replaced(replaced(sheet_.formula, softmax_rule, sum_rule), "softmax", "shares");
}

/// Whether the step has the numbers of a tensor that it was computed from, as scores / √1 has.
bool SheetMaker::changes_nothing(const Event& event) const {
  const auto numbers = event.tensor->numbers();
  if (all_of(numbers, [](double number) { return number == 0.0; })) return false;
  const auto is_the_same = [&](const SheetTensor& one) {
    return contains(event.inputs, one.event.id) && one.numbers.shape() == event.tensor->shape &&
           one.numbers.view().numbers() == numbers;
  };
  return any_of(sheet_.asked, is_the_same);
}

/// A number as it stands in an expression: as the tables have it.
std::string SheetMaker::in_expression(double number) const {
  return as_written({number}, in_fractions_).front();
}

std::string SheetMaker::worked_out(const Event& event, const Index& at) const {
  const auto worked = event.worked(at);
  if (!worked.is_finite()) return "";
  const auto name = names_.name(event.id, at);
  const auto* sign = written_in_full(worked.value(), in_fractions_) ? "= " : "≈ ";
  const auto result = sign + in_expression(worked.value());
  if (const auto* entry = worked.entry())
    return fmt::format("{} = {} {}", name, names_.name(entry->tensor, entry->index), result);
  const auto text = text_on_page(worked, [this](const Worked& part) {
    return part.entry() != nullptr ? in_expression(part.value()) : worked_number(part, precision_of_worked);
  });
  return result == "= " + text ? fmt::format("{} {}", name, result)
                               : fmt::format("{} = {} {}", name, text, result);
}

Sheet SheetMaker::finish() {
  for (auto& one : others_) {
    const auto reads_it = [&](const SheetTensor& step) { return contains(step.event.inputs, one.event.id); };
    if (any_of(sheet_.asked, reads_it)) sheet_.given.push_back(std::move(one));
  }
  others_.clear();
  return std::exchange(sheet_, Sheet());
}

std::string sheet_as_text(const Sheet& sheet, SheetPages pages) {
  const auto blank = pages == SheetPages::answers ? "" : without_last_gap(blank_page(sheet));
  if (pages == SheetPages::sheet) return blank;
  const auto answers =
      without_last_gap(head_of_page(sheet, "the answers") + steps_of_page(sheet, Cells::answers));
  return pages == SheetPages::answers ? answers : blank + '\f' + answers;
}

std::string sheets_as_html(const std::vector<Sheet>& sheets, SheetPages pages) {
  std::string body;
  for (const auto& sheet : sheets) {
    PaperPage page(sheet);
    if (pages != SheetPages::answers) body += page.blank();
    if (pages != SheetPages::sheet) body += page.answers();
  }
  return html::document(html::content_policy(), "Worksheet: " + sheets.front().lesson, html::style_sheet(),
                        "", fmt::format("<main>\n{}</main>\n", body), true);
}

std::string sheet_as_json(const Sheet& sheet, bool with_answers) {
  auto text = fmt::format("{{\n \"worksheet\": {},\n \"name\": {}", in_quotes(sheet.command),
                          with_answers ? "\"the answers\"" : "\"\"");
  for (const auto& step : sheet.asked)
    text += fmt::format(",\n {}:\n [{}", in_quotes(step.event.id),
                        nested_lists_of(step, 0, 0, with_answers).substr(1));
  return text + "\n}\n";
}

}  // namespace attn
