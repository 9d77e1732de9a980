#include "document/prose.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "attn/text/trim.hpp"
#include "formula/parse.hpp"

namespace document {

namespace {

constexpr std::size_t most_choices = 32;

/// Reads text with braces in it. What a choice holds is read up to its `{else}` or `{end}`.
class ProseReader {
 public:
  explicit ProseReader(const Source& source) : source_(source), text_(source.text()) {}

  Prose whole() {
    auto prose = until_mark();
    if (!mark_.empty()) throw Error(here(mark_at_), fmt::format("{{{}}} without {{if …}}", mark_));
    return prose;
  }

 private:
  Place here(std::size_t byte) const { return source_.place_of(byte); }

  /// How a number is printed, ".2f".
  std::string format_in(std::string_view part) const {
    try {
      (void)fmt::format(fmt::runtime(fmt::format("{{:{}}}", part)), 0.0);
    } catch (const fmt::format_error&) {
      throw Error(here(static_cast<std::size_t>(part.data() - text_.data())),
                  fmt::format("\"{}\" is no way to print a number; valid: .2f, .3e, g, +.1f", part));
    }
    return std::string(part);
  }

  /// Reads a formula that is a part of the text.
  formula::Expr formula_in(std::string_view part) const {
    const auto begin = static_cast<std::size_t>(part.data() - text_.data());
    return read_formula(source_.part(begin, begin + part.size()));
  }

  /// Up to `{else …}`, `{end}` or the end of the text; `mark_` says which.
  Prose until_mark() {
    Prose prose;
    mark_ = {};
    while (at_ < text_.size()) {
      const auto brace = std::min(text_.find_first_of("{}\\", at_), text_.size());
      add_text(prose, text_.substr(at_, brace - at_));
      at_ = brace;
      if (at_ == text_.size()) break;
      if (text_[at_] == '\\' && at_ + 1 < text_.size()) {
        add_text(prose, text_.substr(at_ + 1, 1));
        at_ += 2;
        continue;
      }
      if (text_[at_] != '{') throw Error(here(at_), "a } without its {; valid: \\} for one that is printed");
      const auto begin = at_;
      const auto inside = in_braces();
      if (inside == "end" || inside == "else" || inside.starts_with("else if ")) {
        mark_ = inside;
        mark_at_ = begin;
        return prose;
      }
      prose.push_back(piece(begin, inside));
    }
    return prose;
  }

  static void add_text(Prose& prose, std::string_view text) {
    if (text.empty()) return;
    if (prose.empty() || prose.back().text.empty()) prose.emplace_back();
    prose.back().text += text;
  }

  /// What stands between `{` and its `}`, which are left behind.
  std::string_view in_braces() {
    const auto begin = ++at_;
    const auto end = formula::closing_brace(text_, begin - 1);
    if (end == std::string_view::npos) throw Error(here(begin - 1), "a { without its }");
    at_ = end + 1;
    return attn::trimmed(text_.substr(begin, end - begin));
  }

  Piece piece(std::size_t begin, std::string_view inside) {
    Piece piece;
    piece.place = here(begin);
    if (inside.starts_with("if ")) {
      piece.choice = choice(piece.place, inside.substr(3));
    } else if (const auto name = inside.substr(0, inside.find_first_of(" (")); is_call(name)) {
      auto rest = inside.substr(name.size());
      if (const auto colon = rest.rfind(':'); name == "list" && colon != rest.npos) {
        piece.format = format_in(rest.substr(colon + 1));
        rest = rest.substr(0, colon);
      }
      piece.call = call(name, attn::trimmed(rest));
    } else {
      const auto colon = inside.rfind(':');
      if (colon != std::string_view::npos) piece.format = format_in(inside.substr(colon + 1));
      piece.value = formula_in(inside.substr(0, colon));
    }
    return piece;
  }

  /// Of the one with which the text begins; its last byte where none closes it.
  static std::size_t closing_parenthesis(std::string_view text) {
    int depth = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '(') ++depth;
      if (text[i] == ')' && --depth == 0) return i;
    }
    return text.size() - 1;
  }

  static Call call(std::string_view name, std::string_view rest) {
    Call call{.name = std::string(name), .arguments = {}};
    if (rest.starts_with('(')) {
      const auto end = closing_parenthesis(rest);
      const bool is_all = end + 1 == rest.size();
      call.arguments = cut_at_commas(rest.substr(1, end - 1));
      if (!is_all) call.arguments.emplace_back(attn::trimmed(rest.substr(std::min(end + 1, rest.size()))));
    } else if (!rest.empty()) {
      call.arguments = cut_at_commas(rest);
    }
    return call;
  }

  Choice<Prose> choice(const Place& place, std::string_view condition) {
    if (++levels_ > most_choices)
      throw Error(place, fmt::format("more than {} choices in one another", most_choices));
    Choice<Prose> choice;
    choice.branches.push_back({formula_in(condition), until_mark()});
    while (mark_ != "end") {
      if (mark_.empty()) throw Error(place, "{if …} without its {end}");
      if (mark_ == "else")
        choice.branches.push_back({std::nullopt, until_mark()});
      else {
        const auto other = formula_in(mark_.substr(std::string_view("else if ").size()));
        choice.branches.push_back({other, until_mark()});
      }
    }
    mark_ = {};
    --levels_;
    return choice;
  }

  const Source& source_;
  std::string_view text_, mark_;
  std::size_t at_ = 0, mark_at_ = 0, levels_ = 0;
};

/// Takes `{each key}` from the beginning of a cell.
Each each_taken_from(Source& cell) {
  for (const std::string word : {"each", "every", "close"}) {
    if (!cell.text().starts_with("{" + word + " ")) continue;
    Each each{.is_every = word == "every", .is_close = word == "close"};
    const auto brace = formula::closing_brace(cell.text(), 0);
    const auto axes = cell.part(word.size() + 2, brace).without_blanks();
    for (const auto& axis : cut_at_commas(axes.text()))
      each.axes.push_back(axes.part(axes.text().find(axis), axes.text().find(axis) + axis.size()));
    if (brace == std::string::npos || axes.text().empty())
      throw Error(cell.place_of(0), fmt::format("{{{0} …}} without an axis; valid: | {{{0} key}} …", word));
    cell = cell.part(brace + 1).without_blanks();
    return each;
  }
  return {};
}

/// Where the | stands that ends it, outside of braces.
std::size_t end_of_cell(std::string_view text) {
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '{') ++depth;
    if (text[i] == '}') --depth;
    if (text[i] == '|' && depth <= 0) return i;
  }
  return text.size();
}

}  // namespace

Error::Error(const Place& place, const std::string& message)
    : attn::Error(fmt::format("{}, line {}, column {}: {}", place.file, place.line, place.column, message)) {}

std::vector<std::string> cut_at_commas(std::string_view text) {
  std::vector<std::string> parts;
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    const char c = i < text.size() ? text[i] : ',';
    if (c == '(' || c == '[') ++depth;
    if (c == ')' || c == ']') --depth;
    if (c != ',' || (depth > 0 && i < text.size())) continue;
    if (const auto part = attn::trimmed(text.substr(begin, i - begin)); !part.empty())
      parts.emplace_back(part);
    begin = i + 1;
  }
  return parts;
}

bool is_call(std::string_view name) {
  constexpr std::array names = {"token", "place", "tokens", "list", "shape", "call", "option"};
  return std::find(names.begin(), names.end(), name) != names.end();
}

formula::Expr read_formula(const Source& source) {
  try {
    return formula::parse(source.text());
  } catch (const formula::Error& error) {
    throw Error(source.place_of(error.at()), error.what());
  }
}

formula::Expr read_formula(const Place& place, std::string_view text) {
  return read_formula(Source(place, text));
}

Prose read_prose(const Source& source) {
  return ProseReader(source).whole();
}

Row read_row(const Source& line) {
  const std::string_view text = line.text();
  if (!text.starts_with('|'))
    throw Error(line.place_of(0), "a line of a table without a |; valid: | a | b |");
  Row row;
  for (std::size_t begin = 1; !attn::trimmed(text.substr(begin)).empty();) {
    const auto end = begin + end_of_cell(text.substr(begin));
    auto cell = line.part(begin, end).without_blanks();
    const bool is_first = row.cells.empty();
    auto& each = is_first ? row.each : row.cells.emplace_back().each;
    each = each_taken_from(cell);
    if (is_first) row.cells.emplace_back();
    row.cells.back().prose = read_prose(cell);
    begin = std::min(end + 1, text.size());
  }
  return row;
}

}  // namespace document
