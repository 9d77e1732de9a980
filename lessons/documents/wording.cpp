#include "trace/wording.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <tuple>

#include "attn/text/width.hpp"
#include "document/prose.hpp"
#include "lessons/documents/document_run.hpp"
#include "lessons/documents/documents.hpp"
#include "trace/entry.hpp"

namespace lessons {

namespace {

constexpr std::size_t most_places = 12;   ///< of an axis in a list, or below each other in a table
constexpr std::size_t most_columns = 16;  ///< of a table, where they have room

/// The places 0 … count − 1 of a list that is shown; where there are more than `most`, the first and the last
/// ones with nothing between them.
std::vector<std::optional<std::size_t>> places_shown(std::size_t count, std::size_t most) {
  std::vector<std::optional<std::size_t>> places;
  const std::size_t last = count <= most ? 0 : most / 2, first = count <= most ? count : most - last;
  for (std::size_t i = 0; i < first; ++i) places.emplace_back(i);
  if (last > 0) places.emplace_back();
  for (std::size_t i = count - last; last > 0 && i < count; ++i) places.emplace_back(i);
  return places;
}

/// Calls `tell` with each entry that is shown, by its number, and with nothing in the place of those that are
/// not; once where there is no axis.
template <class Tell>
void for_each_entry(Telling& run, const document::Each& each, const Scope& scope, std::size_t most,
                    const Tell& tell) {
  struct Axis {
    std::string name;
    std::size_t length;
  };
  std::vector<Axis> axes;
  std::size_t entries = 1;
  for (const auto& axis : each.axes) {
    const auto name = at_place(axis, [&] { return run.meanings.name_in(axis.text(), scope); });
    if (run.meanings.with_heads_there({name}).empty()) continue;
    axes.push_back({name, at_place(axis, [&] { return run.sheet().size_of(name); })});
    entries *= axes.back().length;
  }
  for (const auto& entry : places_shown(entries, each.is_every ? entries : most)) {
    const std::function<void(std::size_t, std::size_t)> tell_it = [&](std::size_t axis, std::size_t rest) {
      if (axis == 0) return tell(entry);
      const auto& inner = axes[axis - 1];
      run.meanings.at(inner.name, rest % inner.length, [&] { tell_it(axis - 1, rest / inner.length); });
    };
    entry ? tell_it(axes.size(), *entry) : tell(entry);
  }
}

using Line = std::vector<std::string>;

/// The first column begins at the left, all others end at the right, two spaces apart. A row may have fewer
/// cells than others; a column that says nothing in any row takes no room.
std::string in_columns(const std::vector<Line>& rows) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()), 0);
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], attn::display_width(row[i]));
  }
  std::string table;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i)
      if (widths[i] > 0)
        line += line.empty() ? attn::pad_right(row[i], widths[i]) : "  " + attn::pad_left(row[i], widths[i]);
    if (!table.empty()) table += '\n';
    table += line.substr(0, line.find_last_not_of(' ') + 1);
  }
  return table;
}

bool fits_page(const std::string& table) {
  constexpr std::size_t widest = 74;
  const auto lines = attn::lines_of(table);
  return std::all_of(lines.begin(), lines.end(),
                     [](const std::string& line) { return attn::display_width(line) <= widest; });
}

/// What cells say at an entry of their row and one of their own, which does not change with the room there
/// is.
using KnownCells = std::map<std::tuple<const document::Cell*, std::size_t, std::size_t>, std::string>;

Line line_of(Telling& run, const document::Row& row, std::size_t entry_of_row, KnownCells& known,
             const Scope& scope, std::size_t most, std::size_t widest) {
  constexpr std::size_t widest_of_many = 16;
  Line line;
  for (const auto& cell : row.cells) {
    const auto width = cell.each.axes.empty() ? widest : std::min(widest, widest_of_many);
    Line cells;
    for_each_entry(run, cell.each, scope, most, [&](std::optional<std::size_t> entry) {
      if (!entry) return void(cells.emplace_back("…"));
      const auto [words, is_new] = known.try_emplace({&cell, entry_of_row, *entry});
      if (is_new) words->second = in_words(run, cell.prose, scope);
      cells.push_back(attn::shorten(words->second, width));
    });
    if (cell.each.is_close) std::erase(cells, "");
    if (cell.each.is_close) cells = {fmt::format("{}", fmt::join(cells, " "))};
    line.insert(line.end(), cells.begin(), cells.end());
  }
  return line;
}

/// With fewer columns for the entries of an axis, or else with shorter cells, where the page has no room.
std::string table_in_words(Telling& run, const std::vector<document::Row>& rows, const Scope& scope) {
  constexpr std::size_t fewest = 2;
  const bool has_columns = std::any_of(rows.begin(), rows.end(), [](const auto& row) {
    return std::any_of(row.cells.begin(), row.cells.end(),
                       [](const auto& cell) { return !cell.each.axes.empty(); });
  });
  std::string table;
  KnownCells known;
  for (const std::size_t widest : {40, 24})
    for (auto most = most_columns; most >= fewest; --most) {
      std::vector<Line> lines;
      for (const auto& row : rows)
        for_each_entry(run, row.each, scope, most_places, [&](std::optional<std::size_t> entry) {
          auto line = entry ? line_of(run, row, *entry, known, scope, most, widest) : Line{"…"};
          if (row.each.axes.empty() || line.empty() || !line.front().empty())
            lines.push_back(std::move(line));
        });
      table = in_columns(lines);
      if (fits_page(table)) return table;
      if (!has_columns) break;
    }
  return table;
}

std::string number_in_words(Telling& run, const document::Piece& piece, const Scope& scope) {
  constexpr double most_digits = 1e15;
  double number = run.meanings.number(*piece.value, scope);
  if (number == 0.0 || std::isnan(number)) number = std::abs(number);  // without a sign
  if (!piece.format.empty()) return fmt::format(fmt::runtime("{:" + piece.format + "}"), number);
  const bool is_whole = number == std::floor(number) && std::abs(number) < most_digits;
  return is_whole ? fmt::format("{:.0f}", number) : fmt::format("{:.4f}", number);
}

std::string list_in_words(Telling& run, const document::Piece& piece, const Scope& scope) {
  const auto& of = piece.call->arguments;
  if (of.size() != 2) throw document::Error(piece.place, "list of what? valid: {list(key) weights}");
  const auto numbers = run.meanings.numbers_along(run.meanings.name_in(of[0], scope),
                                                  document::read_formula(piece.place, of[1]), scope);
  const auto format = fmt::format("{{:{}}}", piece.format.empty() ? ".4f" : piece.format);
  std::vector<std::string> shown;
  for (const auto& place : places_shown(numbers.size(), most_places))
    shown.push_back(place ? fmt::format(fmt::runtime(format), numbers[*place]) : "…");
  return fmt::format("{}", fmt::join(shown, ", "));
}

/// "the cat sat": the labels along an axis.
std::string tokens_along(Telling& run, const std::string& axis) {
  std::vector<std::string> words;
  for (std::size_t i = 0; i < run.sheet().size_of(axis); ++i) words.push_back(run.meanings.label(axis, i));
  return fmt::format("{}", fmt::join(words, " "));
}

std::string shape_in_words(Telling& run, const formula::Expr& name, const Scope& scope) {
  const auto& tensor = run.sheet().form(run.meanings.settled(name, scope)->name);
  const bool has_batch = formula::has(tensor.axes, Meanings::batch);  // in front of the others
  return attn::to_string(attn::Shape(tensor.shape.begin() + has_batch, tensor.shape.end()));
}

/// What the option says: "strided", "4, 64, 256"; empty where it is not given. Throws attn::Error for one
/// that there is not.
std::string option_in_words(const Options& options, std::string_view key) {
  std::optional<std::string> words;
  visit_options(options, [&](const OptionInfo& info, const auto& field) {
    using Field = std::decay_t<decltype(field)>;
    if (info.key != key) return;
    words = "";
    if constexpr (std::is_same_v<Field, std::optional<std::string>>) words = field.value_or("");
    if constexpr (std::is_same_v<Field, std::string>) words = field;
    if constexpr (std::is_same_v<Field, std::vector<std::size_t>>)
      words = fmt::format("{}", fmt::join(field, ", "));
  });
  if (!words) throw attn::Error(fmt::format("option {} is unknown", key));
  return *words;
}

std::string call_in_words(Telling& run, const document::Call& call, const document::Place& place,
                          const Scope& scope) {
  auto& meanings = run.meanings;
  const auto argument = [&](std::size_t i) {
    if (i >= call.arguments.size()) throw document::Error(place, fmt::format("{} of what?", call.name));
    return document::read_formula(place, call.arguments[i]);
  };
  if (call.arguments.empty())
    throw document::Error(place, fmt::format("{} of what? It stands alone", call.name));
  const auto& first = call.arguments.front();
  if (call.name == "call") return named(run.functions.texts, first, place)(run.document_run);
  if (call.name == "shape") return shape_in_words(run, argument(0), scope);
  if (call.name == "option") return option_in_words(run.bench().options, first);
  const auto axis = meanings.name_in(first, scope);
  if (call.name == "tokens") return tokens_along(run, axis);
  if (call.name == "token" && call.arguments.size() == 1)
    return meanings.label(axis, meanings.place_on_page(axis));
  if (call.name == "token" || call.name == "place") {
    const auto place_of_token = argument(1);
    const bool is_of_other_axis = place_of_token->name == "argmax" && place_of_token->axis != first;
    if (is_of_other_axis)
      throw document::Error(place, fmt::format("argmax({}) is no place along {}; valid: argmax({})",
                                               place_of_token->axis, first, first));
    const auto at = static_cast<std::size_t>(meanings.number(place_of_token, scope));
    const auto label = meanings.label(axis, at);
    const auto& trace = run.bench().trace;
    if (call.name == "token" || !trace.has_labels(axis)) return label;
    const auto& labels = trace.labels(axis).of(0);
    return at < labels.size() ? attn::numbered_token(labels, at) : label;
  }
  throw document::Error(
      place,
      fmt::format("{} is no function; valid: token, place, tokens, list, shape, option, call", call.name));
}

std::string piece_in_words(Telling& run, const document::Piece& piece, const Scope& scope) {
  if (piece.call && piece.call->name == "list") return list_in_words(run, piece, scope);
  if (piece.call) return call_in_words(run, *piece.call, piece.place, scope);
  if (piece.value) return number_in_words(run, piece, scope);
  if (!piece.choice) return piece.text;
  for (const auto& branch : piece.choice->branches)
    if (run.meanings.holds(branch.condition, scope)) return in_words(run, branch.content, scope);
  return "";
}

}  // namespace

std::string in_words(Telling& run, const document::Prose& prose, const Scope& scope) {
  std::string text;
  for (const auto& piece : prose)
    text += at_place(piece.place, [&] { return piece_in_words(run, piece, scope); });
  text.erase(text.find_last_not_of('\n') + 1);  // where a last part says nothing
  return text;
}

std::string fence_in_words(Telling& run, const document::Block& fence, const Scope& scope) {
  return fence.rows.empty() ? in_words(run, fence.prose, scope) : table_in_words(run, fence.rows, scope);
}

std::string paragraphs_of(Telling& run, const Section& section, bool short_page) {
  std::string text;
  for (const auto* block : section.of(document::Block::Kind::paragraph)) {
    const auto& words = block->marks.words;
    const auto with_all = words.find("with --all");
    if (short_page && with_all != words.end() && run.meanings.holds(with_all->second, section.scope))
      continue;
    text += (text.empty() ? "" : "\n") + in_words(run, block->prose, section.scope);
  }
  return text;
}

}  // namespace lessons
