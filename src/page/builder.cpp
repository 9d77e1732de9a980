#include "page/builder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <limits>
#include <string_view>

#include "attn/text/printable.hpp"
#include "page/number_format.hpp"
#include "page/table.hpp"
#include "trace/wording.hpp"

namespace attn::page {

namespace {

/// Whether lines have words or their numbers in their first column: "m   the largest score".
bool is_table_of_words(const std::vector<std::string>& lines) {
  const auto is_word = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view(" ,-").find(c) != std::string_view::npos;
  };
  return std::any_of(lines.begin(), lines.end(), [&](const std::string& line) {
    const auto gap = line.find("  ");
    return gap != line.npos && gap > 0 &&
           std::all_of(line.begin(), line.begin() + static_cast<std::ptrdiff_t>(gap), is_word) &&
           line[gap - 1] != ',';
  });
}

/// "attnlab sdpa --causal   hide the words to come", or the remark on an indented line below the command.
Commands commands_of(const std::vector<std::string>& lines) {
  Commands commands;
  for (const auto& line : lines) {
    const auto start = line.find_first_not_of(' ');
    if (start == line.npos) continue;
    const auto gap = line.find("   ", start);
    if (start == 0) commands.list.push_back({line.substr(0, gap)});
    const auto remark = start > 0 ? line.substr(start) : gap == line.npos ? "" : line.substr(gap + 3);
    if (!remark.empty() && !commands.list.empty()) commands.list.back().remark += remark;
  }
  return commands;
}

Block block_of(const Event& event) {
  auto lines = lines_of(event.formula);
  const auto name = last_of_path(event.id);
  if (name == "flow") return Diagram{std::move(lines)};
  if (name == "next") return commands_of(lines);
  if (name == "code") return Code{std::move(lines)};
  if (name == "idea" && !is_table_of_words(lines)) return Formulas{std::move(lines)};
  return Layout{std::move(lines)};
}

/// The note of an event. Its `formula` is formulas in the note `idea`, a diagram in `flow`, code in `code`,
/// commands in `next`, in all of their groups; else words and numbers in columns, or a picture.
Note note_of(const Event& event) {
  Note note{.id = event.id, .title = (event.kind == Kind::mistake ? "Mistake: " : "") + event.title};
  const auto& words = event.notice.empty() ? event.note : event.notice;
  if (!words.empty()) note.paragraphs = lines_of(words);
  if (!event.formula.empty()) note.blocks.push_back(block_of(event));
  return note;
}

constexpr std::size_t most_cells_of_detail = 1000;
constexpr std::size_t many_cells_of_details = 1300;  // from which on a detail is shown at its ends
constexpr std::size_t most_cells_of_late_detail = 60;
constexpr std::size_t most_cells_of_details = 1900;  // from which on a detail has no table
constexpr std::size_t cells_beside_a_table = 20;     // that its formula and its words take the room of

}  // namespace

Builder::Builder(const Header& header, const PageStyle& style, Seen seen)
    : style_(style), seen_(std::move(seen)), page_{.header = header} {}

Form Builder::form_of(const Event& event) const {
  if (style_.all) return Form::whole;
  if (!event.place) return Form::folded;
  if (!event.tensor) return Form::whole;
  if (event.place->in_one_line) return Form::line;
  return event.place->has_table ? Form::whole : Form::without_numbers;
}

void Builder::receive(const Event& event) {
  names_.see(event);
  if (event.tensor) shapes_[event.id] = event.tensor->shape;
  if (event.tensor && event.tensor->data == nullptr) {
    page_.outline.push_back({event.id, named_shape(event), lines_of(event.formula)});
    return;
  }
  const auto form = form_of(event);
  if (event.measurement) {
    auto& claims = form == Form::folded ? page_.more_claims : page_.claims;
    claims.push_back({*event.measurement, lines_of(event.formula), event.note});
    return;
  }
  if (!event.tensor && event.id == "next" && form != Form::folded) {
    page_.next = note_of(event);
    return;
  }
  Section section{form, note_of(event)};
  if (event.tensor) section.content = step_of(event, form);
  if (form == Form::folded)
    page_.more.push_back(std::move(section));
  else
    sections_.emplace_back(style_.all ? sections_.size() : event.place->position, std::move(section));
}

Page Builder::finish() {
  std::stable_sort(sections_.begin(), sections_.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  for (auto& [position, section] : sections_) page_.sections.push_back(std::move(section));
  sections_.clear();
  return std::exchange(page_, {});
}

Step Builder::step_of(const Event& event, Form form) {
  const auto& tensor = *event.tensor;
  Step step{.id = event.id,
            .title = event.title == event.id ? "" : event.title,
            .is_input = event.kind == Kind::input,
            .formula = {lines_of(event.formula), event.mathml},
            .shape = tensor.shape,
            .named_shape = tensor.shape.empty() ? "" : named_shape(event),
            .scalar = tensor.shape.empty() ? scalar_text(tensor, style_.precision) : "",
            .origins = origins_of(event)};
  const bool is_shown = form == Form::whole || form == Form::without_numbers || style_.has_details;
  if (!is_shown) return step;
  step.worked = worked_entry(event);
  const bool is_plotted = event.curve && (style_.all || !event.place || event.place->is_plotted);
  step.table = table(event, is_plotted && style_.plots_as_tables ? Form::whole : form);
  if (is_plotted && !tensor.shape.empty() && tensor.shape.size() <= 2) step.curves = curves_of(event);
  step.notice = event.notice;
  if (!event.has_notice || style_.all) step.note = note_after_notice(event);
  if (seen_) seen_(event, step);
  return step;
}

std::vector<Origin> Builder::origins_of(const Event& event) const {
  std::vector<Origin> origins;
  for (const auto& id : event.inputs) {
    const auto shape = shapes_.find(id);
    origins.push_back({id, shape == shapes_.end() ? std::nullopt : std::optional(shape->second)});
  }
  return origins;
}

std::optional<WorkedEntry> Builder::worked_entry(const Event& event) const {
  const auto at = entry_to_work_out(event);
  if (!at) return std::nullopt;
  const auto worked = event.worked(*at);
  if (!worked.is_finite()) return std::nullopt;
  const auto number = [this](const Worked& part) { return worked_number(part, style_.precision); };
  const auto name = printable(names_.name(event.id, *at));
  if (const auto* entry = worked.entry())
    return WorkedEntry{name, printable(names_.name(entry->tensor, entry->index)), "= " + number(worked)};
  const auto text = text_on_page(worked, number);
  const auto result = worked_result(event, *at, worked.value(), text, style_.precision);
  const bool says_result = result == "= " + text || result == "≈ " + text;
  return WorkedEntry{name, text, says_result ? "" : result};
}

/// What is no core of the page has room for fewer cells, the later it comes.
std::optional<Table> Builder::table(const Event& event, Form form) {
  const auto& tensor = *event.tensor;
  const bool has_numbers = form == Form::whole || style_.has_details;
  if (tensor.shape.empty() || !has_numbers) return std::nullopt;
  if (style_.full) return table_of(event, style_.precision, std::numeric_limits<std::size_t>::max());
  if (form == Form::whole) return table_of(event, style_.precision, style_.most_cells);
  cells_of_details_ += cells_beside_a_table;
  if (cells_of_details_ > most_cells_of_details) return std::nullopt;
  const bool is_late = cells_of_details_ > many_cells_of_details;
  auto table = table_of(event, style_.precision, is_late ? most_cells_of_late_detail : most_cells_of_detail);
  cells_of_details_ += offsets_of(table).size();
  return table;
}

}  // namespace attn::page
