#include "trace/diff/text_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <unordered_map>
#include <utility>

#include "attn/text/width.hpp"
#include "trace/number.hpp"

namespace attn {

namespace {

constexpr std::string_view digits = "0123456789";
constexpr std::string_view rule_sign = "─";

bool is_blank(char character) {
  return character == ' ' || character == '\t';
}

std::size_t indent_of(std::string_view line) {
  return std::min(line.find_first_not_of(' '), line.size());
}

bool is_rule(std::string_view line) {
  if (line.empty()) return false;
  while (line.starts_with(rule_sign)) line.remove_prefix(rule_sign.size());
  return line.empty();
}

/// Everything else is indented by two; lines below the first of a heading have no blank line before them.
bool starts_section(std::string_view line, bool is_after_blank) {
  return is_after_blank && indent_of(line) < 2;
}

std::vector<TextSection> sections_of(std::string_view text) {
  std::vector<TextSection> sections;
  bool is_after_blank = true;
  for (std::size_t start = 0, number = 1; start < text.size(); ++number) {
    const auto end = std::min(text.find('\n', start), text.size());
    const auto line = text.substr(start, end - start);
    start = end + 1;
    const bool is_blank_line = std::all_of(line.begin(), line.end(), is_blank);
    if (!is_blank_line) {
      if (sections.empty() || starts_section(line, is_after_blank)) sections.emplace_back();
      sections.back().lines.push_back({number, line});
    }
    is_after_blank = is_blank_line;
  }
  return sections;
}

/// Takes the lines of the options, which stand directly below the rule, out of the section.
void read_header(TextSection& section, std::size_t rule) {
  const bool shows_command = section.lines.front().text.starts_with("$ ") && rule > 1;
  const auto title = section.lines[shows_command ? 1 : 0].text;
  section.is_header = true;
  section.lesson = beginning_of(title.substr(0, title.find(':')));
  std::string options;
  auto last = section.lines[rule].number;
  const auto first = section.lines.begin() + static_cast<std::ptrdiff_t>(rule) + 1;
  auto end = first;
  for (; end != section.lines.end() && end->number == last + 1; ++end, ++last)
    options.append("\n").append(end->text.substr(indent_of(end->text)));
  section.options = parse_printed_options(options);
  section.lines.erase(first, end);
}

/// The number that a heading "6  Each row becomes shares" begins with.
std::optional<std::size_t> number_of(std::string_view heading) {
  const auto start = indent_of(heading), end = heading.find_first_not_of(digits, start);
  if (end == start || heading.compare(std::min(end, heading.size()), 2, "  ") != 0) return std::nullopt;
  std::size_t number = 0;
  std::from_chars(heading.data() + start, heading.data() + end, number);
  return number;
}

/// The word after the number of a heading, `3  weights = softmax(scaled)`.
std::string id_of(std::string_view heading) {
  const auto words = words_of(heading);
  return words.size() < 2 ? "" : std::string(words[1]);
}

using Option = std::pair<std::string, ConfigValue>;

constexpr auto npos = std::string_view::npos;
constexpr std::string_view blanks = " \n";

void skip_blanks(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(blanks), text.size()));
}

std::string_view take(std::string_view& text, std::size_t length) {
  const auto taken = text.substr(0, length);
  text.remove_prefix(taken.size());
  return taken;
}

/// Up to and without the first of these characters.
std::string_view take_until(std::string_view& text, std::string_view ends) {
  return take(text, std::min(text.find_first_of(ends), text.size()));
}

/// Whether a quotation mark before this ends a text: options stand two blanks or a line apart, the texts of
/// one option a single blank.
bool follows_text(std::string_view rest) {
  return rest.empty() || rest.starts_with("  ") || rest.starts_with('\n') || rest.starts_with(" \"");
}

/// What stands between quotation marks, in one line.
std::string take_quoted(std::string_view& text) {
  text.remove_prefix(1);
  std::size_t end = text.find('"');
  while (end != npos && !follows_text(text.substr(end + 1))) end = text.find('"', end + 1);
  std::string quoted(take(text, std::min(end, text.size())));
  take(text, 1);
  std::replace(quoted.begin(), quoted.end(), '\n', ' ');
  return quoted;
}

/// A number where that says the same as the word.
std::optional<ConfigValue> as_number(std::string_view word) {
  const auto number = number_in(word);
  if (!number || !std::isfinite(*number)) return std::nullopt;
  std::int64_t whole = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), whole);
  if (error == std::errc() && end == word.data() + word.size() && fmt::format("{}", whole) == word)
    return whole;
  return fmt::format("{}", *number) == word ? std::optional<ConfigValue>(*number) : std::nullopt;
}

ConfigValue take_value(std::string_view& text) {
  if (!text.starts_with('"')) {
    const auto word = take_until(text, blanks);
    return as_number(word).value_or(std::string(word));
  }
  std::vector<std::string> texts;
  for (; text.starts_with('"'); skip_blanks(text)) texts.push_back(take_quoted(text));
  return texts;
}

Option take_option(std::string_view& text) {
  std::string name(take_until(text, " \n="));
  if (!text.starts_with('=')) return {std::move(name), true};
  text.remove_prefix(1);
  return {std::move(name), take_value(text)};
}

constexpr std::size_t page_indent = 2;

/// The column of the terminal in which a word of the line ends: numbers and their labels end in the same.
std::size_t end_of(std::string_view line, std::string_view word) {
  return display_width(line.substr(0, static_cast<std::size_t>(word.data() + word.size() - line.data())));
}

std::optional<std::string_view> word_ending_at(std::string_view line, std::size_t end) {
  for (const auto word : words_of(line))
    if (end_of(line, word) == end) return word;
  return std::nullopt;
}

/// The topmost of the lines directly above that has a label at the end of the number. A line with fewer words
/// than the row has numbers is a caption or names an axis.
std::optional<std::size_t> head_of(const TextSection& section, std::size_t row, std::size_t end) {
  const auto& lines = section.lines;
  const std::size_t words = words_of(lines[row].text).size();
  std::optional<std::size_t> head;
  for (std::size_t i = row; i > 0 && lines[i - 1].number + 1 == lines[i].number; --i)
    if (words_of(lines[i - 1].text).size() + 2 >= words && word_ending_at(lines[i - 1].text, end))
      head = i - 1;
  return head;
}

/// Whether nothing but numbers, or what stands for one, follows a label, up to the strongest key of the row.
bool is_row(std::string_view line) {
  const auto words = words_of(line);
  for (std::size_t i = 1; i < words.size() && words[i] != "→"; ++i)
    if (!number_in(words[i]) && words[i] != "…" && words[i] != "·") return false;
  return true;
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
    const auto rule = std::find_if(section.lines.begin(), section.lines.end(),
                                   [](const auto& line) { return is_rule(line.text); });
    if (rule != section.lines.end()) {
      read_header(section, static_cast<std::size_t>(rule - section.lines.begin()));
      lesson = section.lesson;
      steps = 0;
    }
    section.lesson = lesson;
    const auto number = number_of(section.lines.front().text);
    if (number) section.id = id_of(section.lines.front().text);
    if (!section.id.empty()) section.is_numbered_in_order = *number == ++steps;
    section.name = section.id.empty() ? beginning_of(section.lines.front().text) : section.id;
  }
  return sections;
}

std::string_view take_word(std::string_view& rest) {
  const auto first = std::min(rest.find_first_not_of(" \t"), rest.size());
  const auto last = std::min(rest.find_first_of(" \t", first), rest.size());
  const auto word = rest.substr(first, last - first);
  rest.remove_prefix(last);
  return word;
}

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  for (auto word = take_word(line); !word.empty(); word = take_word(line)) words.push_back(word);
  return words;
}

std::string beginning_of(std::string_view text) {
  constexpr std::size_t longest = 1000;
  if (text.size() <= longest) return std::string(text);
  auto end = longest;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return std::string(text.substr(0, end)) + "…";
}

std::vector<Option> parse_printed_options(std::string_view text) {
  std::vector<Option> options;
  std::unordered_map<std::string, std::size_t> seen;
  for (skip_blanks(text); !text.empty(); skip_blanks(text)) {
    options.push_back(take_option(text));
    auto& name = options.back().first;
    if (const auto count = ++seen[name]; count > 1) name += fmt::format(" ({})", count);
  }
  return options;
}

TableLabels table_labels_of(const TextSection& section, std::size_t line, std::string_view word) {
  constexpr std::size_t longest_row = 10'000;
  const std::string_view text = section.lines[line].text;
  if (text.size() > longest_row) return {};
  const std::size_t end = end_of(text, word);
  const auto head = is_row(text) ? head_of(section, line, end) : std::nullopt;
  if (!head) return {};
  const auto first = words_of(text).front();
  const bool has_label = text.find_first_not_of(' ') == page_indent && first.data() != word.data();
  return {.row = std::string(has_label ? first : ""),
          .column = std::string(*word_ending_at(section.lines[*head].text, end))};
}

}  // namespace attn
