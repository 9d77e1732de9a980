#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>

#include "attn/text/trim.hpp"
#include "document/document.hpp"
#include "document/prose.hpp"
#include "formula/parse.hpp"

namespace document {

namespace {

constexpr std::size_t most_bytes = std::size_t{1} << 20;
constexpr std::size_t most_levels = 32;
constexpr std::array words_of_marks = {
    "with --all", "one line",      "no table",        "hidden", "shares",  "spare",   "curve",
    "linear",     "whole numbers", "for all samples", "given",  "no plot", "no code", "picture"};

std::vector<std::string> lines_of(std::string_view text) {
  auto lines = attn::split(text, '\n');
  if (lines.back().empty()) lines.pop_back();
  for (auto& line : lines)
    if (line.ends_with('\r')) line.pop_back();
  return lines;
}

bool is_blank(std::string_view line) {
  return attn::trimmed(line).empty();
}

constexpr std::string_view fence_mark = "```";

/// "``` loss = −log p ```"
bool is_fence_of_one_line(std::string_view line) {
  return 2 * fence_mark.size() < line.size() && line.starts_with(fence_mark) && line.ends_with(fence_mark);
}

bool ends_sentence(std::string_view line) {
  while (line.ends_with("{end}")) line.remove_suffix(std::string_view("{end}").size());
  return line.ends_with('.') || line.ends_with(':') || line.ends_with('?') || line.ends_with('!');
}

/// A line in braces that is a block of its own: its first word, else nothing.
std::string_view directive_of(std::string_view line) {
  line = attn::trimmed(line);
  if (!line.starts_with('{')) return {};
  const auto word = line.substr(1, line.find_first_of(" }") - 1);
  constexpr std::array words = {"use", "at", "if", "else", "end", "do", "flow", "label"};
  if (std::find(words.begin(), words.end(), word) == words.end()) return {};
  const auto end = formula::closing_brace(line, 0);
  const bool opens_text = word == "if" || word == "else" || word == "end";
  const bool is_whole = opens_text ? end + 1 == line.size() : word != "at" || end != line.npos;
  return is_whole ? word : std::string_view();
}

/// Where the brace opens that closes at the end of the text; npos where none does.
std::size_t opening_brace(std::string_view text) {
  std::size_t depth = 0;
  for (auto i = text.size(); i-- > 0;) {
    if (text[i] == '}') ++depth;
    if (text[i] == '{' && --depth == 0) return i;
  }
  return text.npos;
}

/// The line with values in place of names in braces.
std::string with_values(std::string line, const std::vector<std::string>& names,
                        const std::vector<std::string>& values) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto name = fmt::format("{{{}}}", names[i]);
    for (auto at = line.find(name); at != line.npos && line.size() <= most_bytes;
         at = line.find(name, at + values[i].size()))
      line.replace(at, name.size(), values[i]);
  }
  return line;
}

/// A row's values, between commas; the last one is all that is left of it. Fewer where it has no more.
std::vector<std::string> values_of(std::string_view row, std::size_t count) {
  std::vector<std::string> values;
  for (auto parts = cut_at_commas(row); !parts.empty(); parts = cut_at_commas(row)) {
    if (values.size() + 1 == count) {
      values.emplace_back(attn::trimmed(row));
      break;
    }
    row.remove_prefix(row.find(parts[0]) + parts[0].size());
    row.remove_prefix(std::min(row.find(',') + 1, row.size()));
    values.push_back(std::move(parts[0]));
  }
  return values;
}

class DocumentReader {
 public:
  explicit DocumentReader(const Document& document) : document_(document), lines_(lines_of(document.text)) {
    for (std::size_t number = 1; number <= lines_.size() + 1; ++number) numbers_.push_back(number);
    blank_comments();
    repeat_lines();
  }

  std::vector<std::pair<std::string, Source>> front_matter() {
    std::vector<std::pair<std::string, Source>> entries;
    if (lines_.empty() || attn::trimmed(lines_[0]) != "---") return entries;
    for (at_ = 1; at_ < lines_.size() && attn::trimmed(lines_[at_]) != "---"; ++at_) {
      const auto line = lines_[at_];
      if (is_blank(line)) continue;
      const bool goes_on = line.starts_with(' ') && !entries.empty();
      if (goes_on) {
        add_line(entries.back().second);
        continue;
      }
      const auto colon = line.find(':');
      if (colon == std::string_view::npos)
        throw Error(place(), fmt::format("\"{}\" is no line \"key: value\"", line));
      entries.emplace_back(attn::trimmed(line.substr(0, colon)), source().part(colon + 1).without_blanks());
    }
    if (at_ == lines_.size()) throw Error(place(), "the front matter does not end; valid: a line ---");
    ++at_;
    return entries;
  }

  std::vector<Block> body() {
    front_matter();
    auto all = blocks();
    if (at_ < lines_.size()) throw Error(place(), "{else} or {end} without {if …}");
    return all;
  }

 private:
  Place place(std::size_t column = 1) const { return {document_.file, numbers_[at_], column}; }

  /// The line.
  Source source() const { return Source(place(), lines_[at_]); }

  /// Adds the line to a text, behind `separator`.
  void add_line(Source& text, std::string_view separator = " ") const {
    text.append(Source(place(), separator));
    text.append(source().without_blanks());
  }

  /// Empties the lines of comments, from one that begins with `<!--` to one that ends with `-->`.
  void blank_comments() {
    bool in_fence = false, in_comment = false;
    Place begin;
    for (at_ = 0; at_ < lines_.size(); ++at_) {
      auto& line = lines_[at_];
      if (!in_comment && line.starts_with(fence_mark) && !is_fence_of_one_line(line)) in_fence = !in_fence;
      if (!in_comment && !in_fence && line.starts_with("<!--")) in_comment = true, begin = place();
      if (!in_comment) continue;
      in_comment = !attn::trimmed(line).ends_with("-->");
      line = {};
    }
    if (in_comment) throw Error(begin, "<!-- without the --> that ends it");
    at_ = 0;
  }

  /// Lines that are there once for each row of values: `{for NAME, NAME of a, b | c, d}`.
  struct Repetition {
    Place place{};
    std::vector<std::string> names{};
    std::vector<std::vector<std::string>> rows{};
    std::vector<std::string> lines{};
    std::vector<std::size_t> numbers{};
  };

  /// Writes out the lines between `{for …}` and `{end for}`, once for each row.
  void repeat_lines() {
    std::vector<Repetition> open(1);
    std::size_t bytes = 0;
    const auto add = [&](std::string line, std::size_t number) {
      open.back().lines.push_back(std::move(line));
      open.back().numbers.push_back(number);
    };
    for (; at_ < lines_.size(); ++at_) {
      if (lines_[at_].starts_with("{for ")) {
        open.push_back(repetition());
      } else if (attn::trimmed(lines_[at_]) != "{end for}") {
        add(lines_[at_], numbers_[at_]);
      } else if (open.size() == 1) {
        throw Error(place(), "{end for} without a {for …} that begins a line");
      } else {
        const auto one = std::move(open.back());
        open.pop_back();
        for (const auto& values : one.rows)
          for (std::size_t i = 0; i < one.lines.size(); ++i) {
            add(with_values(one.lines[i], one.names, values), one.numbers[i]);
            if ((bytes += open.back().lines.back().size() + 1) > most_bytes)
              throw Error(one.place, fmt::format("lines that make more than {} bytes", most_bytes));
          }
      }
    }
    if (open.size() > 1) throw Error(open[1].place, "{for …} without its {end for}");
    open[0].numbers.push_back(numbers_.back());
    lines_ = std::move(open[0].lines);
    numbers_ = std::move(open[0].numbers);
    at_ = 0;
  }

  Repetition repetition() {
    constexpr std::string_view word = "for ", of = " of ";
    Repetition one{.place = place()};
    const auto [inside, behind] = cut_at_brace();
    if (!is_blank(behind.text())) throw Error(behind.place_of(0), "text behind a {for …}; valid: none");
    const auto& head = inside.text();
    const auto values = head.find(of, word.size());
    one.names = cut_at_commas(head.substr(word.size(), values - word.size()));
    if (values == head.npos || one.names.empty())
      throw Error(one.place, "a repetition without its values; valid: {for NAME of VALUE | VALUE}");
    for (const auto row : attn::pieces_of(std::string_view(head).substr(values + of.size()), "|")) {
      one.rows.push_back(values_of(row, one.names.size()));
      if (one.rows.back().size() < one.names.size())
        throw Error(one.place,
                    fmt::format("\"{}\" has no value for each of {}", row, fmt::join(one.names, ", ")));
    }
    return one;
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
      else if (word.empty() && line.starts_with("    "))
        add_step(blocks);
      else
        blocks.push_back(block(line, word));
    }
    return blocks;
  }

  Block block(std::string_view line, std::string_view word) {
    if (word == "if") return choice();
    if (word == "at") return remark();
    if (word == "use" || word == "do" || word == "flow") return with_condition(call(word));
    if (word == "label") return with_condition(label());
    if (line.starts_with('#')) return heading();
    if (line.starts_with(fence_mark)) return with_condition(fence());
    if (line.starts_with('\t'))
      throw Error(place(), "a tab before the text; valid: 4 blanks before a formula, else none");
    if (const auto blanks = line.find_first_not_of(" \t"); blanks > 0)
      throw Error(place(),
                  fmt::format("{} blank{} before the text; valid: 4 blanks before a formula, else none",
                              blanks, blanks == 1 ? "" : "s"));
    require_no_formula(line);
    if (line.starts_with("- ")) return item();
    return paragraph();
  }

  /// Takes the marks from the end of a text.
  Source with_marks_taken(Source text, Marks& marks) const {
    for (text = text.without_blanks(); text.text().ends_with('}'); text = text.without_blanks()) {
      const auto brace = opening_brace(text.text());
      if (brace == std::string::npos) break;
      const auto mark = text.part(brace + 1, text.text().size() - 1);
      if (!take_mark(mark, marks)) {
        require_value(mark);
        break;
      }
      text = text.part(0, brace);
    }
    return text;
  }

  /// What stands in the last braces and is no mark has to be part of the text.
  void require_value(const Source& mark) const {
    if (mark.text() == "end") return;
    try {
      read_prose(Source({}, fmt::format("{{{}}}", mark.text())));
    } catch (const attn::Error&) {
      throw Error(
          mark.place_of(0),
          fmt::format("{{{}}} is neither a value nor a mark; valid marks: {{#name}}, {{if …}}, {{{}}}, "
                      "and each of these as {{with --all if …}}",
                      mark.text(), fmt::join(words_of_marks, "}, {")));
    }
  }

  bool take_mark(const Source& source, Marks& marks) const {
    const auto& mark = source.text();
    if (mark.starts_with('#')) return marks.id = mark.substr(1), true;
    if (mark.starts_with("follow ")) return marks.follow = mark.substr(7), true;
    if (mark.starts_with("written ")) return marks.written = mark.substr(8), true;
    if (mark.starts_with("drawn as ")) return marks.drawn_as = mark.substr(9), true;
    if (mark.starts_with("rounded as ")) return marks.rounded_as = source.part(11), true;
    if (mark.starts_with("titled ")) return marks.title = read_prose(source.part(7)), true;
    if (mark.starts_with("solve ")) return marks.solved = mark.substr(6), true;
    if (mark.starts_with("in ")) return marks.step = mark.substr(3), true;
    if (mark.starts_with("if ")) return marks.condition = read_formula(source.part(3)), true;
    const auto condition = std::min(mark.find(" if "), mark.size());
    const auto word = mark.substr(0, condition);
    if (std::find(words_of_marks.begin(), words_of_marks.end(), word) == words_of_marks.end()) return false;
    auto& when = marks.words[word];
    if (condition < mark.size()) when = read_formula(source.part(condition + 4));
    return true;
  }

  /// Refuses `scores[query, key] = …` that begins a paragraph.
  void require_no_formula(std::string_view line) const {
    const auto equals = line.find("] = "), colon = line.find("]: ");
    const auto end = std::min(equals, colon);
    if (end == line.npos) return;
    try {
      formula::parse_declaration(line.substr(0, end + 1));
    } catch (const formula::Error&) {
      return;
    }
    throw Error(place(), "a formula that is no part of a sentence; valid: 4 blanks before it");
  }

  /// The line with those that follow it and begin with `more`.
  Source with_more(std::string_view more) {
    auto text = source();
    while (at_ + 1 < lines_.size() && lines_[at_ + 1].starts_with(more)) {
      ++at_;
      add_line(text);
    }
    return text;
  }

  Block heading() {
    auto block = heading(with_more("  {"));
    ++at_;
    return block;
  }

  Block heading(const Source& text) const {
    Block block{.kind = Block::Kind::heading, .place = text.place_of(0)};
    const auto line = with_marks_taken(text, block.marks);
    block.level = std::min(line.text().find_first_not_of('#'), line.text().size());
    block.prose = read_prose(line.part(block.level).without_blanks());
    return block;
  }

  Block fence() {
    Block block{.kind = Block::Kind::fence, .place = place()};
    if (const auto line = lines_[at_]; is_fence_of_one_line(line)) {
      const auto text = source().part(fence_mark.size(), line.size() - fence_mark.size());
      block.prose = read_prose(text.without_blanks());
      ++at_;
      return block;
    }
    with_marks_taken(source().part(fence_mark.size()), block.marks);
    const auto begin = ++at_;
    std::string text;
    for (; at_ < lines_.size() && !lines_[at_].starts_with(fence_mark); ++at_)
      text += fmt::format("{}{}", at_ == begin ? "" : "\n", lines_[at_]);
    if (at_ == lines_.size()) throw Error(block.place, "``` without the ``` that ends it");
    if (text.starts_with('|'))
      for (auto line = begin; line < at_; ++line)
        block.rows.push_back(read_row(Source({document_.file, numbers_[line], 1}, lines_[line])));
    else
      block.prose = read_prose(Source({document_.file, numbers_[begin], 1}, text));
    ++at_;
    return block;
  }

  /// A formula; its heading may stand behind it: `W_Q[d_model, d_k]: weight  ## Makes queries  {with --all}`.
  void add_step(std::vector<Block>& blocks) {
    const auto text = with_more("        ");
    const auto title = text.text().find(" ## ");
    if (title != std::string::npos) blocks.push_back(heading(text.part(title + 1)));
    blocks.push_back(formula(text.part(0, title)));
    ++at_;
  }

  Block formula(const Source& text) const {
    Block block{.kind = Block::Kind::formula, .place = text.place_of(text.text().find_first_not_of(' '))};
    block.code = with_marks_taken(text, block.marks);
    std::string_view line = block.code.text();
    const auto equals = line.find(" = "), colon = line.find(": ");
    block.is_input = equals == std::string_view::npos || colon < equals;
    if (block.is_input && colon != std::string_view::npos) {
      block.draw = attn::trimmed(line.substr(colon + 2));
      line = line.substr(0, colon);
    }
    try {
      block.definition = block.is_input ? formula::parse_declaration(line) : formula::parse_definition(line);
    } catch (const formula::Error& error) {
      throw Error(block.code.place_of(error.at()), error.what());
    }
    return block;
  }

  /// Lines up to a blank one, or to a block that is no text. A line that ends a sentence ends a line of the
  /// page.
  Source text_of_lines(Source text) {
    text = text.without_blanks();
    for (++at_; at_ < lines_.size(); ++at_) {
      const auto line = lines_[at_];
      if (is_blank(line) || !directive_of(line).empty() || line.starts_with("- ") ||
          line.starts_with(fence_mark) || line.starts_with('#') || line.starts_with("    "))
        break;
      add_line(text, ends_sentence(text.text()) ? "\n" : " ");
    }
    return text;
  }

  Block paragraph() {
    Block block{.kind = Block::Kind::paragraph, .place = place()};
    auto first = source().without_blanks();
    const auto end = first.text().starts_with("{with --all") ? first.text().find("} ") : std::string::npos;
    if (end != std::string::npos) {
      take_mark(first.part(1, end), block.marks);
      first = first.part(end + 2);
    }
    block.prose = read_prose(text_of_lines(first));
    return block;
  }

  Block item() {
    Block block{.kind = Block::Kind::item, .place = place()};
    auto text = text_of_lines(source().part(2));
    if (const auto tick = text.text().find('`'); tick != std::string::npos) {
      const auto end = text.text().find('`', tick + 1);
      if (end == std::string::npos) throw Error(text.place_of(tick), "a ` without the one that ends it");
      block.code = text.part(tick + 1, end);
      auto rest = text.part(end + 1);
      text = text.part(0, tick);
      text.append(rest);
    }
    text = with_marks_taken(text, block.marks);
    const auto first = text.text().find_first_not_of(" :\n"), last = text.text().find_last_not_of(" :\n");
    if (first != std::string::npos) block.prose = read_prose(text.part(first, last + 1));
    return block;
  }

  /// The block, where the condition behind it holds.
  static Block with_condition(Block block) {
    const auto condition = std::exchange(block.marks.condition, std::nullopt);
    if (!condition) return block;
    Block choice{.kind = Block::Kind::choice, .place = block.place};
    choice.choice.emplace().branches.push_back({condition, {std::move(block)}});
    return choice;
  }

  Block call(std::string_view word) {
    Block block{.kind = word == "use"    ? Block::Kind::use
                        : word == "flow" ? Block::Kind::flow
                                         : Block::Kind::call,
                .place = place()};
    const auto text = in_braces(block.marks);
    const auto rest = attn::trimmed(std::string_view(text.text()).substr(word.size()));
    ++at_;
    if (block.kind == Block::Kind::flow) return block.call = {"flow", cut_at_commas(rest)}, block;
    const auto space = std::min(rest.find_first_of(" ,"), rest.size());
    block.call.name = rest.substr(0, space);
    block.call.arguments = cut_at_commas(rest.substr(space));
    return block;
  }

  /// `{label head as no. {head}}`
  Block label() {
    constexpr std::string_view as = " as ", word = "label ";
    Block block{.kind = Block::Kind::label, .place = place()};
    const auto text = in_braces(block.marks);
    const auto axis_end = text.text().find(as);
    if (axis_end == std::string::npos)
      throw Error(block.place, "a label that does not say of what; valid: {label AXIS as WORDS}");
    block.call = {"label", {text.text().substr(word.size(), axis_end - word.size())}};
    block.prose = read_prose(text.part(axis_end + as.size()));
    ++at_;
    return block;
  }

  /// `{use scores.md, query = head}  {with --all}`: what stands in the first braces, and the marks behind
  /// them. While the braces are open it goes on behind two blanks.
  Source in_braces(Marks& marks) {
    const auto [inside, behind] = cut_at_brace();
    with_marks_taken(behind, marks);
    return inside;
  }

  /// What is in the braces that begin the line, which may go on behind two blanks in the next, and what
  /// stands behind them.
  std::pair<Source, Source> cut_at_brace() {
    auto text = source().without_blanks();
    auto end = formula::closing_brace(text.text(), 0);
    for (; end == std::string::npos; end = formula::closing_brace(text.text(), 0)) {
      if (at_ + 1 == lines_.size() || !lines_[at_ + 1].starts_with("  "))
        throw Error(text.place_of(0),
                    "a { without its }; valid: a } in this line, or behind 2 blanks in the next");
      ++at_;
      add_line(text);
    }
    return {text.part(1, end), text.part(end + 1)};
  }

  Block remark() {
    Block block{.kind = Block::Kind::remark, .place = place()};
    const auto line = source().without_blanks();
    const auto end = formula::closing_brace(line.text(), 0), begin = std::string_view("{at").size();
    const auto parts = cut_at_commas(line.part(begin, end).text());
    if (parts.empty()) throw Error(block.place, "{at …} without the id of a step");
    block.call.name = "at";
    std::size_t marks = 0;
    for (const auto& part : parts) {
      if (&part != &parts.front() && take_mark(Source(block.place, part), block.marks))
        ++marks;
      else if (!block.marks.follow.empty() && part.find(" = ") != part.npos)
        block.marks.follow += ", " + part;
      else if (marks > 0 || part.find(' ') != part.npos)
        throw Error(block.place, fmt::format("{{at {}, {}}}: valid behind the steps: if …, {}", parts[0],
                                             part, fmt::join(words_of_marks, ", ")));
      else
        block.call.arguments.push_back(part);
    }
    auto text = line.part(end + 1).without_blanks();
    if (text.text().empty()) {
      ++at_;
      const auto next = at_ < lines_.size() ? directive_of(lines_[at_]) : std::string_view();
      if (at_ == lines_.size() || is_blank(lines_[at_]) || (!next.empty() && next != "if")) return block;
      text = source();
    }
    block.prose = read_prose(text_of_lines(text));
    return block;
  }

  Block choice() {
    if (++levels_ > most_levels)
      throw Error(place(), fmt::format("more than {} choices in one another", most_levels));
    Block block{.kind = Block::Kind::choice, .place = place()};
    block.choice.emplace();
    const std::string word = "if";
    while (directive_of(lines_[at_]) != "end") {
      const auto head = in_braces(block.marks).without_blanks();  // "if a", "else if b" or "else"
      std::optional<formula::Expr> condition;
      if (head.text() != "else")
        condition = read_formula(head.part(head.text().find(word) + word.size()).without_blanks());
      ++at_;
      block.choice->branches.push_back({condition, blocks()});
      if (at_ == lines_.size()) throw Error(block.place, "{if …} without its {end}");
    }
    ++at_;
    --levels_;
    return block;
  }

  const Document& document_;
  std::vector<std::string> lines_;
  std::vector<std::size_t> numbers_;  ///< of the lines in the file, and of its end
  std::size_t at_ = 0, levels_ = 0;
};

}  // namespace

std::string_view Document::front(std::string_view key) const {
  const auto all = all_front(key);
  return all.empty() ? std::string_view() : all.front();
}

std::vector<std::string_view> Document::all_front(std::string_view key) const {
  std::vector<std::string_view> values;
  for (const auto& [name, value] : front_matter)
    if (name == key) values.push_back(value.text());
  return values;
}

Source Document::front_source(std::string_view key) const {
  for (const auto& [name, value] : front_matter)
    if (name == key) return value;
  return Source({file}, "");
}

const std::vector<Block>& Document::blocks() const {
  if (!blocks_) blocks_ = DocumentReader(*this).body();
  return *blocks_;
}

Document open(const std::string& file, std::string_view text) {
  if (text.size() > most_bytes)
    throw Error({file}, fmt::format("{} bytes; valid: at most {}", text.size(), most_bytes));
  Document document;
  document.file = file;
  document.text = text;
  document.front_matter = DocumentReader(document).front_matter();
  return document;
}

Document read(const std::string& file, std::string_view text) {
  auto document = open(file, text);
  document.blocks();
  return document;
}

}  // namespace document
