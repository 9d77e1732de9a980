#include "trace/diff/text_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <unordered_map>
#include <utility>

#include "attn/text/width.hpp"
#include "trace/number.hpp"

namespace attn {

namespace {

constexpr std::string_view digits = "0123456789";
constexpr std::string_view blanks = " \t\n";
constexpr std::size_t page_indent = 2;

std::size_t indent_of(std::string_view line) {
  return std::min(line.find_first_not_of(' '), line.size());
}

bool is_rule(std::string_view line) {
  constexpr std::string_view sign = "─";
  while (line.starts_with(sign)) line.remove_prefix(sign.size());
  return line.empty();
}

/// "temperature=1/weights:": an id with an equals sign has a colon before its formula.
bool is_id_with_colon(std::string_view word) {
  return word.ends_with(':') && word.find('=') != word.npos;
}

std::string_view without_colon(std::string_view word) {
  return word.substr(0, word.size() - (is_id_with_colon(word) ? 1 : 0));
}

/// The first id of a line `  K = X W_K [6×8], mask [6×6]`, which names steps that an earlier lesson taught;
/// empty for other lines.
std::string_view id_of_short_step(std::string_view line) {
  const auto words = words_of(line);
  if (indent_of(line) != page_indent || words.size() < 2) return "";
  const bool is_next = words[1].data() == words[0].data() + words[0].size() + 1;
  const bool is_defined = words[1] == "=" || words[1].starts_with('[') || is_id_with_colon(words[0]);
  return is_next && is_defined ? without_colon(words[0]) : "";
}

/// Everything below a heading is indented; lines below the first of a heading have no blank line before them.
bool starts_section(std::string_view line) {
  return indent_of(line) < page_indent || !id_of_short_step(line).empty();
}

std::vector<TextSection> sections_of(std::string_view text) {
  std::vector<TextSection> sections;
  bool is_after_blank = true;
  for (std::size_t start = 0, number = 1; start < text.size(); ++number) {
    const auto end = std::min(text.find('\n', start), text.size());
    const auto line = text.substr(start, end - start);
    start = end + 1;
    const bool is_blank_line = line.find_first_not_of(blanks) == line.npos;
    if (!is_blank_line) {
      if (sections.empty() || (is_after_blank && starts_section(line))) sections.emplace_back();
      sections.back().lines.push_back({number, line});
    }
    is_after_blank = is_blank_line;
  }
  return sections;
}

bool shows_command(const TextSection& section) {
  return section.lines.front().text.starts_with("$ ");
}

/// Whether that is "lookup: a title" and options below it, as a page without drawings begins.
bool is_plain_header(const TextSection& section) {
  constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyz0123456789-";
  const std::size_t title = shows_command(section) ? 1 : 0;
  if (section.lines.size() < title + 2) return false;
  const std::string_view text = section.lines[title].text, options = section.lines[title + 1].text;
  const auto end = text.find_first_not_of(letters);
  return end != 0 && end != text.npos && text.substr(end).starts_with(": ") &&
         indent_of(options) == page_indent && words_of(options).front().find('=') != options.npos;
}

bool is_header(const TextSection& section) {
  const auto is_below_title = [](const TextLine& line) { return is_rule(line.text); };
  return std::any_of(section.lines.begin(), section.lines.end(), is_below_title) || is_plain_header(section);
}

/// Takes the lines of the options, which are indented, out of the section.
void read_header(TextSection& section) {
  const auto title = section.lines[shows_command(section) ? 1 : 0].text;
  section.is_header = true;
  section.lesson = beginning_of(title.substr(0, title.find(':')));
  std::string options;
  std::erase_if(section.lines, [&](const auto& line) {
    const bool is_option = indent_of(line.text) == page_indent;
    if (is_option) options.append(line.text).append(" ");
    return is_option;
  });
  section.options = parse_printed_options(options);
}

/// The number that the heading `3  weights = softmax(scaled)` begins with, before an id.
std::optional<std::size_t> number_of(std::string_view heading) {
  const auto start = indent_of(heading), end = heading.find_first_not_of(digits, start);
  if (end == start || end == heading.npos || heading.substr(end, 2) != "  ") return std::nullopt;
  if (words_of(heading).size() < 2) return std::nullopt;
  std::size_t number = 0;
  std::from_chars(heading.data() + start, heading.data() + end, number);
  return number;
}

/// `sentence="the cat" "a dog"`, `d_k=8`: a word is of the option before where a quotation mark is open, or
/// where it begins with one.
std::vector<std::string> written_options(std::string_view text) {
  std::vector<std::string> options;
  bool is_open = false;
  for (const auto word : words_of(text)) {
    const bool continues =
        !options.empty() && (is_open || (word.starts_with('"') && options.back().ends_with('"')));
    if (continues)
      options.back().append(" ").append(word);
    else
      options.emplace_back(word);
    if (std::count(word.begin(), word.end(), '"') % 2 == 1) is_open = !is_open;
  }
  return options;
}

/// The texts of `"the cat" "a dog"`.
std::vector<std::string> quoted_texts(std::string_view text) {
  constexpr std::string_view between = "\" \"";
  std::vector<std::string> texts;
  text.remove_prefix(1);
  for (auto end = text.find(between); end != text.npos; end = text.find(between)) {
    texts.emplace_back(text.substr(0, end));
    text.remove_prefix(end + between.size());
  }
  texts.emplace_back(text.substr(0, text.size() - (text.ends_with('"') ? 1 : 0)));
  return texts;
}

ConfigValue value_in(std::string_view text) {
  if (text.starts_with('"')) return quoted_texts(text);
  const auto number = number_in(text);
  const bool says_the_same = number && std::isfinite(*number) && fmt::format("{}", *number) == text;
  return says_the_same ? ConfigValue(*number) : ConfigValue(std::string(text));
}

/// A word, and the column of the terminal in which it ends: numbers and their labels end in the same.
struct Word {
  std::string_view text{};
  std::size_t end = 0;
};

std::vector<Word> placed_words(std::string_view line) {
  std::vector<Word> words;
  const char* start = line.data();
  std::size_t end = 0;
  for (const auto word : words_of(line)) {
    const char* stop = word.data() + word.size();
    end += display_width({start, static_cast<std::size_t>(stop - start)});
    start = stop;
    words.push_back({word, end});
  }
  return words;
}

std::vector<Word> words_before_strongest(std::string_view line) {
  auto words = placed_words(line);
  const auto is_arrow = [](const Word& word) { return word.text == "→"; };
  words.erase(std::find_if(words.begin(), words.end(), is_arrow), words.end());
  return words;
}

/// The cells of a row of a table, up to its strongest key; none of any other line.
std::vector<Word> cells_of(std::string_view line) {
  auto words = words_before_strongest(line);
  if (!words.empty() && indent_of(line) == page_indent) words.erase(words.begin());  // the label
  const bool is_row = std::all_of(words.begin(), words.end(), [](const auto& word) {
    return number_in(word.text) || word.text == "…" || word.text == "·" || word.text == "–";
  });
  return is_row ? words : std::vector<Word>();
}

/// Whether every cell has a word above it in the line, which has no more words than a head needs.
bool stands_above(const std::vector<Word>& line, const std::vector<Word>& cells) {
  constexpr std::size_t corner_and_strongest = 2;
  return line.size() <= cells.size() + corner_and_strongest &&
         std::includes(line.begin(), line.end(), cells.begin(), cells.end(),
                       [](const Word& a, const Word& b) { return a.end < b.end; });
}

}  // namespace

std::string_view without_decoration(std::string_view text, std::string& storage) {
  if (text.find('\x1b') == std::string_view::npos && text.find('\r') == std::string_view::npos) return text;
  storage.clear();
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text.substr(i, 2) == "\x1b[") {
      i = std::min(text.find_first_not_of("0123456789;", i + 2), text.size());
    } else if (text[i] != '\r') {
      storage += text[i];
    }
  }
  return storage;
}

std::vector<TextSection> parse_text_page(std::string_view text) {
  auto sections = sections_of(text);
  std::string lesson;
  std::size_t steps = 0;
  for (auto& section : sections) {
    if (is_header(section)) {
      read_header(section);
      lesson = section.lesson;
      steps = 0;
    }
    const auto heading = section.lines.front().text;
    const auto number = number_of(heading);
    section.lesson = lesson;
    section.id = number ? without_colon(words_of(heading)[1]) : id_of_short_step(heading);
    section.is_numbered_in_order = number && *number == ++steps;
    section.name = section.id.empty() ? beginning_of(heading) : section.id;
  }
  return sections;
}

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  for (auto start = line.find_first_not_of(blanks); start != line.npos;) {
    const auto end = std::min(line.find_first_of(blanks, start), line.size());
    words.push_back(line.substr(start, end - start));
    start = line.find_first_not_of(blanks, end);
  }
  return words;
}

std::string beginning_of(std::string_view text) {
  constexpr std::size_t longest = 1000;
  if (text.size() <= longest) return std::string(text);
  auto end = longest;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return std::string(text.substr(0, end)) + "…";
}

std::optional<PrintedNumber> printed_number(std::string_view word) {
  constexpr std::string_view minus = "−";
  const auto start = word.find_last_of('(') + 1, end = word.find_last_not_of("),.") + 1;
  if (end <= start) return std::nullopt;
  std::string text(word.substr(start, end - start));
  if (text.starts_with(minus)) text.replace(0, minus.size(), "-");
  const auto number = number_in(text);
  return number ? std::optional(PrintedNumber{word.substr(0, start), *number, word.substr(end)})
                : std::nullopt;
}

std::vector<std::pair<std::string, ConfigValue>> parse_printed_options(std::string_view text) {
  std::vector<std::pair<std::string, ConfigValue>> options;
  std::unordered_map<std::string, std::size_t> seen;
  for (const auto& option : written_options(text)) {
    const auto end = std::min(option.find('='), option.size());
    auto name = option.substr(0, end);
    if (const auto count = ++seen[name]; count > 1) name += fmt::format(" ({})", count);
    options.emplace_back(std::move(name), end == option.size()
                                              ? ConfigValue(true)
                                              : value_in(std::string_view(option).substr(end + 1)));
  }
  return options;
}

TableLabels table_labels_of(const TextSection& section, std::size_t line, std::string_view word) {
  constexpr std::size_t longest_row = 10'000;
  const auto& lines = section.lines;
  const std::string_view text = lines[line].text;
  if (text.size() > longest_row) return {};
  const auto cells = cells_of(text);
  const auto cell = std::find_if(cells.begin(), cells.end(),
                                 [&](const Word& one) { return one.text.data() == word.data(); });
  if (cell == cells.end()) return {};
  std::string_view column;
  for (auto i = line; i > 0 && lines[i - 1].number + 1 == lines[i].number; --i) {
    const auto above = words_before_strongest(lines[i - 1].text);
    if (!stands_above(above, cells)) break;
    column =
        std::find_if(above.begin(), above.end(), [&](const Word& one) { return one.end == cell->end; })->text;
  }
  if (column.empty()) return {};
  const bool has_label = indent_of(text) == page_indent;
  return {.row = std::string(has_label ? words_of(text).front() : ""), .column = std::string(column)};
}

}  // namespace attn
