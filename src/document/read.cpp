#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "document/document.hpp"
#include "document/prose.hpp"
#include "formula/parse.hpp"

namespace document {

namespace {

constexpr std::size_t most_bytes = std::size_t{1} << 20;
constexpr std::size_t most_levels = 32;
constexpr std::array words_of_marks = {"with --all", "one line", "no table", "hidden", "shares", "spare"};

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const auto end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

bool is_blank(std::string_view line) {
  return without_blanks(line).empty();
}

bool ends_sentence(std::string_view line) {
  while (line.ends_with("{end}")) line.remove_suffix(std::string_view("{end}").size());
  return line.ends_with('.') || line.ends_with(':') || line.ends_with('?') || line.ends_with('!');
}

/// A line in braces that is a block of its own: its first word, else nothing.
std::string_view directive_of(std::string_view line) {
  line = without_blanks(line);
  if (!line.starts_with('{')) return {};
  const auto word = line.substr(1, line.find_first_of(" }") - 1);
  constexpr std::array words = {"use", "at", "if", "else", "end", "do", "flow"};
  if (std::find(words.begin(), words.end(), word) == words.end()) return {};
  const bool is_whole_line = line.find('}') + 1 == line.size();
  const bool opens_text = word == "at" || word == "if" || word == "else" || word == "end";
  return is_whole_line || !opens_text ? word : std::string_view();
}

/// What stands in the braces of a directive, after its word.
std::string_view rest_of(std::string_view line, std::string_view word) {
  line = without_blanks(line);
  const auto begin = word.size() + 1;
  return without_blanks(line.substr(begin, line.find('}') - begin));
}

class DocumentReader {
 public:
  DocumentReader(const std::string& file, std::string_view text) : lines_(lines_of(text)) {
    document_.file = file;
  }

  Document operator()() {
    read_front_matter();
    document_.blocks = blocks();
    if (at_ < lines_.size()) throw Error(place(), "{else} or {end} without {if …}");
    return std::move(document_);
  }

 private:
  Place place(std::size_t column = 1) const { return {document_.file, at_ + 1, column}; }

  void read_front_matter() {
    if (lines_.empty() || without_blanks(lines_[0]) != "---") return;
    for (at_ = 1; at_ < lines_.size() && without_blanks(lines_[at_]) != "---"; ++at_) {
      const auto line = lines_[at_];
      if (is_blank(line)) continue;
      const bool goes_on = line.starts_with(' ') && !document_.front_matter.empty();
      if (goes_on) {
        document_.front_matter.back().second += fmt::format(" {}", without_blanks(line));
        continue;
      }
      const auto colon = line.find(':');
      if (colon == std::string_view::npos)
        throw Error(place(), fmt::format("\"{}\" is no line \"key: value\"", line));
      document_.front_places.push_back(place());
      document_.front_matter.emplace_back(without_blanks(line.substr(0, colon)),
                                          without_blanks(line.substr(colon + 1)));
    }
    if (at_ == lines_.size()) throw Error(place(), "the front matter does not end; valid: a line ---");
    ++at_;
  }

  /// Up to the end of the text, or to an `{else …}` or `{end}` of a line of its own.
  std::vector<Block> blocks() {
    std::vector<Block> blocks;
    for (; at_ < lines_.size();) {
      const auto line = lines_[at_];
      const auto word = directive_of(line);
      if (word == "else" || word == "end") return blocks;
      if (is_blank(line))
        ++at_;
      else
        blocks.push_back(block(line, word));
    }
    return blocks;
  }

  Block block(std::string_view line, std::string_view word) {
    if (word == "if") return choice();
    if (word == "at") return remark();
    if (word == "use" || word == "do" || word == "flow") return call(word);
    if (line.starts_with('#')) return heading();
    if (line.starts_with("```")) return fence();
    if (line.starts_with("    ")) return formula();
    if (const auto blanks = line.find_first_not_of(" \t"); blanks > 0)
      throw Error(place(),
                  fmt::format("{} blank{} before the text; valid: 4 blanks before a formula, else none",
                              blanks, blanks == 1 ? "" : "s"));
    if (line.starts_with("- ")) return item();
    return paragraph();
  }

  /// Takes the marks from the end of a line.
  std::string_view with_marks_taken(std::string_view line, Marks& marks) const {
    for (line = without_blanks(line); line.ends_with('}'); line = without_blanks(line)) {
      const auto brace = line.rfind('{');
      if (brace == std::string_view::npos) break;
      const auto mark = line.substr(brace + 1, line.size() - brace - 2);
      if (!take_mark(mark, brace, marks)) {
        require_value(mark, brace);
        break;
      }
      line = line.substr(0, brace);
    }
    return line;
  }

  /// What stands in the last braces and is no mark has to be part of the text.
  void require_value(std::string_view mark, std::size_t column) const {
    if (mark == "end") return;
    try {
      read_prose(place(), fmt::format("{{{}}}", mark));
    } catch (const attn::Error&) {
      throw Error(
          place(column + 1),
          fmt::format("{{{}}} is neither a value nor a mark; valid marks: {{#name}}, {{if …}}, {{{}}}, "
                      "and each of these as {{with --all if …}}",
                      mark, fmt::join(words_of_marks, "}, {")));
    }
  }

  bool take_mark(std::string_view mark, std::size_t column, Marks& marks) const {
    if (mark.starts_with('#')) return marks.id = mark.substr(1), true;
    if (mark.starts_with("follow ")) return marks.follow = mark.substr(7), true;
    if (mark.starts_with("drawn as ")) return marks.drawn_as = mark.substr(9), true;
    if (mark.starts_with("solve ")) return marks.solved = mark.substr(6), true;
    if (mark.starts_with("in ")) return marks.step = mark.substr(3), true;
    if (mark.starts_with("if "))
      return marks.condition = read_formula(place(column + 1), mark.substr(3)), true;
    const auto condition = std::min(mark.find(" if "), mark.size());
    const auto word = mark.substr(0, condition);
    if (std::find(words_of_marks.begin(), words_of_marks.end(), word) == words_of_marks.end()) return false;
    auto& when = marks.words[std::string(word)];
    if (condition < mark.size()) when = read_formula(place(column + 1), mark.substr(condition + 4));
    return true;
  }

  /// The line with those that follow it and begin with `more`.
  std::string with_more(std::string_view more) {
    std::string text(lines_[at_]);
    for (; at_ + 1 < lines_.size() && lines_[at_ + 1].starts_with(more); ++at_)
      text += fmt::format(" {}", without_blanks(lines_[at_ + 1]));
    return text;
  }

  Block heading() {
    Block block{.kind = Block::Kind::heading, .place = place()};
    const auto text = with_more("  {");
    const auto line = with_marks_taken(text, block.marks);
    block.level = std::min(line.find_first_not_of('#'), line.size());
    block.prose = read_prose(place(block.level + 2), without_blanks(line.substr(block.level)));
    ++at_;
    return block;
  }

  Block fence() {
    Block block{.kind = Block::Kind::fence, .place = place()};
    const auto begin = ++at_;
    std::string text;
    for (; at_ < lines_.size() && !lines_[at_].starts_with("```"); ++at_)
      text += fmt::format("{}{}", at_ == begin ? "" : "\n", lines_[at_]);
    if (at_ == lines_.size()) throw Error(block.place, "``` without the ``` that ends it");
    block.prose = read_prose({document_.file, begin + 1, 1}, text);
    ++at_;
    return block;
  }

  Block formula() {
    Block block{.kind = Block::Kind::formula, .place = place(5)};
    const auto text = with_more("        ");
    auto line = with_marks_taken(text, block.marks);
    block.code = line;
    block.is_input = line.find(" = ") == std::string_view::npos;
    if (const auto colon = line.find(": "); block.is_input && colon != std::string_view::npos) {
      block.draw = without_blanks(line.substr(colon + 2));
      line = line.substr(0, colon);
    }
    try {
      block.definition = block.is_input ? formula::parse_declaration(line) : formula::parse_definition(line);
    } catch (const formula::Error& error) {
      throw Error(place(4 + formula::place_of(line, error.at()).column), error.what());
    }
    ++at_;
    return block;
  }

  /// Lines up to a blank one, or to a block that is no text. A line that ends a sentence ends a line of the
  /// page.
  std::string text_of_lines(std::string_view first) {
    std::string text(first);
    for (++at_; at_ < lines_.size(); ++at_) {
      const auto line = lines_[at_];
      if (is_blank(line) || !directive_of(line).empty() || line.starts_with("- ") ||
          line.starts_with("```") || line.starts_with('#') || line.starts_with("    "))
        break;
      text += fmt::format("{}{}", ends_sentence(text) ? '\n' : ' ', without_blanks(line));
    }
    return text;
  }

  Block paragraph() {
    Block block{.kind = Block::Kind::paragraph, .place = place()};
    auto first = without_blanks(lines_[at_]);
    if (first.starts_with("{with --all} ")) {
      block.marks.words["with --all"];
      first = without_blanks(first.substr(std::string_view("{with --all}").size()));
    }
    block.prose = read_prose(block.place, text_of_lines(first));
    return block;
  }

  Block item() {
    Block block{.kind = Block::Kind::item, .place = place()};
    const auto begin = place(3);
    auto text = text_of_lines(without_blanks(lines_[at_].substr(2)));
    if (const auto tick = text.find('`'); tick != std::string::npos) {
      const auto end = text.find('`', tick + 1);
      if (end == std::string::npos) throw Error(begin, "a ` without the one that ends it");
      block.code = text.substr(tick + 1, end - tick - 1);
      std::replace(block.code.begin(), block.code.end(), '\n', ' ');
      text.erase(tick, end + 1 - tick);
    }
    auto rest = std::string(with_marks_taken(text, block.marks));
    rest.erase(rest.find_last_not_of(" :\n") + 1);
    const auto first = rest.find_first_not_of(" :\n");
    block.prose = read_prose(begin, first == std::string::npos ? "" : rest.substr(first));
    return block;
  }

  Block call(std::string_view word) {
    Block block{.kind = word == "use"    ? Block::Kind::use
                        : word == "flow" ? Block::Kind::flow
                                         : Block::Kind::call,
                .place = place()};
    const auto line = without_blanks(with_marks_after_braces(block.marks));
    const auto rest = rest_of(line, word);
    ++at_;
    if (block.kind == Block::Kind::flow) return block.call = {"flow", cut_at_commas(rest)}, block;
    const auto space = std::min(rest.find_first_of(" ,"), rest.size());
    block.call.name = rest.substr(0, space);
    block.call.arguments = cut_at_commas(rest.substr(space));
    return block;
  }

  /// `{use scores.md}  {with --all}`: the first braces are the directive's.
  std::string_view with_marks_after_braces(Marks& marks) const {
    const auto line = without_blanks(lines_[at_]);
    const auto end = line.find('}') + 1;
    if (end == 0) throw Error(place(), "a { without its }");
    with_marks_taken(line.substr(end), marks);
    return line.substr(0, end);
  }

  Block remark() {
    Block block{.kind = Block::Kind::remark, .place = place()};
    const auto parts = cut_at_commas(rest_of(lines_[at_], "at"));
    if (parts.empty()) throw Error(block.place, "{at …} without the id of a step");
    block.call.name = parts[0];
    for (const auto& part : parts)
      if (&part != &parts.front() && !take_mark(part, 0, block.marks))
        throw Error(block.place, fmt::format("{{at {}, {}}}: valid behind the step: if …, {}", parts[0], part,
                                             fmt::join(words_of_marks, ", ")));
    ++at_;
    const auto next = at_ < lines_.size() ? directive_of(lines_[at_]) : std::string_view();
    const bool ends = next == "at" || next == "else" || next == "end";
    const bool has_text = at_ < lines_.size() && !is_blank(lines_[at_]) && !ends;
    if (has_text) block.prose = read_prose(place(), text_of_lines(without_blanks(lines_[at_])));
    return block;
  }

  Block choice() {
    if (++levels_ > most_levels)
      throw Error(place(), fmt::format("more than {} choices in one another", most_levels));
    Block block{.kind = Block::Kind::choice, .place = place()};
    block.choice.emplace();
    std::optional<formula::Expr> condition = read_formula(block.place, rest_of(lines_[at_], "if"));
    while (true) {
      ++at_;
      block.choice->branches.push_back({condition, blocks()});
      if (at_ == lines_.size()) throw Error(block.place, "{if …} without its {end}");
      const auto word = directive_of(lines_[at_]);
      if (word == "end") break;
      const auto rest = rest_of(lines_[at_], word);
      condition.reset();
      if (rest.starts_with("if ")) condition = read_formula(place(), rest.substr(3));
    }
    ++at_;
    --levels_;
    return block;
  }

  std::vector<std::string_view> lines_;
  std::size_t at_ = 0, levels_ = 0;
  Document document_;
};

}  // namespace

std::string_view Document::front(std::string_view key) const {
  const auto all = all_front(key);
  return all.empty() ? std::string_view() : all.front();
}

std::vector<std::string_view> Document::all_front(std::string_view key) const {
  std::vector<std::string_view> values;
  for (const auto& [name, value] : front_matter)
    if (name == key) values.push_back(value);
  return values;
}

Place Document::place_of(std::string_view key) const {
  for (std::size_t i = 0; i < front_matter.size(); ++i)
    if (front_matter[i].first == key) return front_places[i];
  return {file};
}

Document read(const std::string& file, std::string_view text) {
  if (text.size() > most_bytes)
    throw Error({file}, fmt::format("{} bytes; valid: at most {}", text.size(), most_bytes));
  return DocumentReader(file, text)();
}

}  // namespace document
