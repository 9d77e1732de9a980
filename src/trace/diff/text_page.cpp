#include "trace/diff/text_page.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include "trace/diff/printed_options.hpp"

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
  section.lesson = title.substr(0, title.find(':'));
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

/// The first word of the line that defines the tensor, `scores = Q Kᵀ   [query 3 × key 3]`.
std::string id_of(const TextSection& section) {
  for (std::size_t i = 1; i < section.lines.size(); ++i)
    if (indent_of(section.lines[i].text) == 2) return std::string(words_of(section.lines[i].text).front());
  return "";
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
    if (number) section.id = id_of(section);
    if (!section.id.empty()) section.is_numbered_in_order = *number == ++steps;
    section.name = section.id.empty() ? section.lines.front().text : section.id;
  }
  return sections;
}

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  const auto end = line.end();
  for (auto first = std::find_if_not(line.begin(), end, is_blank); first != end;) {
    const auto last = std::find_if(first, end, is_blank);
    words.emplace_back(first, last);
    first = std::find_if_not(last, end, is_blank);
  }
  return words;
}

std::optional<double> number_in(std::string_view word) {
  double number = 0.0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (end != word.data() + word.size() || error != std::errc()) return std::nullopt;
  return number;
}

}  // namespace attn
