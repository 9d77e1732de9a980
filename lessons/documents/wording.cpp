#include <algorithm>
#include <cmath>
#include <functional>

#include "attn/text/width.hpp"
#include "document/prose.hpp"
#include "lessons/documents/document_run.hpp"
#include "lessons/documents/documents.hpp"
#include "lessons/workbench/notice.hpp"
#include "trace/entry.hpp"

namespace lessons {

namespace {

constexpr std::size_t most_places = 12;   ///< of an axis in a list, or below each other in a table
constexpr std::size_t most_columns = 16;  ///< of a table, where they have room

}  // namespace

std::string Wording::paragraphs(const Section& section, bool short_page) const {
  std::string text;
  for (const auto* block : section.of(document::Block::Kind::paragraph)) {
    const auto& words = block->marks.words;
    const auto with_all = words.find("with --all");
    if (short_page && with_all != words.end() && meanings_.holds(with_all->second, section.scope)) continue;
    text += (text.empty() ? "" : "\n") + text_of(block->prose, section.scope);
  }
  return text;
}

template <class Tell>
void Wording::for_each(const document::Each& each, const Scope& scope, std::size_t most,
                       const Tell& tell) const {
  struct Axis {
    std::string name;
    std::size_t length;
  };
  std::vector<Axis> axes;
  std::size_t entries = 1;
  for (const auto& axis : each.axes) {
    const auto name = at_place(axis, [&] { return meanings_.name_in(axis.text(), scope); });
    if (meanings_.with_heads_there({name}).empty()) continue;
    axes.push_back({name, at_place(axis, [&] { return meanings_.sheet().size_of(name); })});
    entries *= axes.back().length;
  }
  const std::function<void(std::size_t, std::size_t)> tell_entry = [&](std::size_t axis, std::size_t entry) {
    if (axis == 0) return tell(true);
    const auto& inner = axes[axis - 1];
    meanings_.at(inner.name, entry % inner.length, [&] { tell_entry(axis - 1, entry / inner.length); });
  };
  for (const auto& entry : places_shown(entries, each.is_every ? entries : most))
    entry ? tell_entry(axes.size(), *entry) : tell(false);
}

std::string Wording::drawn(const document::Block& fence, const Scope& scope) const {
  return fence.rows.empty() ? text_of(fence.prose, scope) : table_of(fence.rows, scope);
}

namespace {

/// Without the columns that say nothing in any line.
std::vector<std::vector<std::string>> without_empty_columns(std::vector<std::vector<std::string>> lines) {
  std::vector<bool> is_needed;
  for (const auto& line : lines) {
    is_needed.resize(std::max(is_needed.size(), line.size()));
    for (std::size_t i = 0; i < line.size(); ++i)
      if (!line[i].empty()) is_needed[i] = true;
  }
  for (auto& line : lines)
    for (std::size_t i = line.size(); i-- > 0;)
      if (!is_needed[i]) line.erase(line.begin() + static_cast<std::ptrdiff_t>(i));
  return lines;
}

bool fits_page(std::string_view table) {
  constexpr std::size_t widest = 74;
  while (!table.empty()) {
    const auto end = std::min(table.find('\n'), table.size());
    if (attn::display_width(table.substr(0, end)) > widest) return false;
    table.remove_prefix(std::min(end + 1, table.size()));
  }
  return true;
}

}  // namespace

std::string Wording::table_of(const std::vector<document::Row>& rows, const Scope& scope) const {
  constexpr std::size_t fewest = 2;
  const bool has_columns = std::any_of(rows.begin(), rows.end(), [](const auto& row) {
    return std::any_of(row.cells.begin(), row.cells.end(),
                       [](const auto& cell) { return !cell.each.axes.empty(); });
  });
  std::string table;
  for (const std::size_t widest : {40, 24})
    for (auto most = most_columns; most >= fewest; --most) {
      std::vector<Line> lines;
      for (const auto& row : rows)
        for_each(row.each, scope, most_places, [&](bool is_shown) {
          auto line = is_shown ? line_of(row, scope, most, widest) : Line{"…"};
          if (row.each.axes.empty() || line.empty() || !line.front().empty())
            lines.push_back(std::move(line));
        });
      table = in_columns(without_empty_columns(std::move(lines)));
      if (fits_page(table)) return table;
      if (!has_columns) break;
    }
  return table;
}

Wording::Line Wording::line_of(const document::Row& row, const Scope& scope, std::size_t most,
                               std::size_t widest) const {
  constexpr std::size_t widest_of_many = 16;
  Line line;
  for (const auto& cell : row.cells) {
    const auto width = cell.each.axes.empty() ? widest : std::min(widest, widest_of_many);
    Line cells;
    for_each(cell.each, scope, most, [&](bool is_shown) {
      cells.push_back(is_shown ? attn::shorten(text_of(cell.prose, scope), width) : "…");
    });
    if (cell.each.is_close) std::erase(cells, "");
    if (cell.each.is_close) cells = {fmt::format("{}", fmt::join(cells, " "))};
    line.insert(line.end(), cells.begin(), cells.end());
  }
  return line;
}

std::string Wording::text_of(const document::Prose& prose, const Scope& scope) const {
  std::string text;
  for (const auto& piece : prose) text += at_place(piece.place, [&] { return text_of(piece, scope); });
  text.erase(text.find_last_not_of('\n') + 1);  // where a last part says nothing
  return text;
}

std::string Wording::text_of(const document::Piece& piece, const Scope& scope) const {
  if (piece.call && piece.call->name == "list") return list_of(piece, scope);
  if (piece.call) return text_of(*piece.call, piece.place, scope);
  if (piece.value) return number_of(piece, scope);
  if (!piece.choice) return piece.text;
  for (const auto& branch : piece.choice->branches)
    if (meanings_.holds(branch.condition, scope)) return text_of(branch.content, scope);
  return "";
}

std::string Wording::number_of(const document::Piece& piece, const Scope& scope) const {
  constexpr double most_digits = 1e15;
  double number = meanings_.number(*piece.value, scope);
  if (number == 0.0 || std::isnan(number)) number = std::abs(number);  // without a sign
  if (!piece.format.empty()) return fmt::format(fmt::runtime("{:" + piece.format + "}"), number);
  const bool is_whole = number == std::floor(number) && std::abs(number) < most_digits;
  return is_whole ? fmt::format("{:.0f}", number) : fmt::format("{:.4f}", number);
}

std::string Wording::text_of(const document::Call& call, const document::Place& place,
                             const Scope& scope) const {
  const auto argument = [&](std::size_t i) {
    if (i >= call.arguments.size()) throw document::Error(place, fmt::format("{} of what?", call.name));
    return document::read_formula(place, call.arguments[i]);
  };
  if (call.arguments.empty())
    throw document::Error(place, fmt::format("{} of what? It stands alone", call.name));
  const auto& first = call.arguments.front();
  if (call.name == "call") return named(functions_.texts, first, place)(run_);
  if (call.name == "shape") return shape(argument(0), scope);
  if (call.name == "option") return option_in_words(meanings_.bench().options, first);
  const auto axis = meanings_.name_in(first, scope);
  if (call.name == "tokens") return tokens_along(axis);
  if (call.name == "token" && call.arguments.size() == 1)
    return meanings_.label(axis, meanings_.place_on_page(axis));
  if (call.name == "token" || call.name == "place") {
    const auto place_of_token = argument(1);
    const bool is_of_other_axis = place_of_token->name == "argmax" && place_of_token->axis != first;
    if (is_of_other_axis)
      throw document::Error(place, fmt::format("argmax({}) is no place along {}; valid: argmax({})",
                                               place_of_token->axis, first, first));
    const auto at = static_cast<std::size_t>(meanings_.number(place_of_token, scope));
    const auto label = meanings_.label(axis, at);
    const auto& trace = meanings_.bench().trace;
    if (call.name == "token" || !trace.has_labels(axis)) return label;
    const auto& labels = trace.labels(axis).of(0);
    return at < labels.size() ? attn::numbered_token(labels, at) : label;
  }
  throw document::Error(
      place,
      fmt::format("{} is no function; valid: token, place, tokens, list, shape, option, call", call.name));
}

std::string Wording::tokens_along(const std::string& axis) const {
  std::vector<std::string> words;
  for (std::size_t i = 0; i < meanings_.sheet().size_of(axis); ++i) words.push_back(meanings_.label(axis, i));
  return fmt::format("{}", fmt::join(words, " "));
}

std::string Wording::list_of(const document::Piece& piece, const Scope& scope) const {
  const auto& of = piece.call->arguments;
  if (of.size() != 2) throw document::Error(piece.place, "list of what? valid: {list(key) weights}");
  const auto numbers = meanings_.numbers_along(meanings_.name_in(of[0], scope),
                                               document::read_formula(piece.place, of[1]), scope);
  const auto format = fmt::format("{{:{}}}", piece.format.empty() ? ".4f" : piece.format);
  std::vector<std::string> shown;
  for (const auto& place : places_shown(numbers.size(), most_places))
    shown.push_back(place ? fmt::format(fmt::runtime(format), numbers[*place]) : "…");
  return fmt::format("{}", fmt::join(shown, ", "));
}

std::string Wording::shape(const formula::Expr& name, const Scope& scope) const {
  const auto& tensor = meanings_.sheet().form(meanings_.settled(name, scope)->name);
  const bool has_batch = formula::has(tensor.axes, Meanings::batch);  // in front of the others
  return attn::to_string(attn::Shape(tensor.shape.begin() + has_batch, tensor.shape.end()));
}

}  // namespace lessons
