#include "trace/diff/printed_table.hpp"

#include <optional>

#include "attn/text/width.hpp"

namespace attn {

namespace {

constexpr std::size_t indent = 2;

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

TableLabels table_labels_of(const TextSection& section, std::size_t line, std::string_view word) {
  const std::string_view text = section.lines[line].text;
  const std::size_t end = end_of(text, word);
  const auto head = is_row(text) ? head_of(section, line, end) : std::nullopt;
  if (!head) return {};
  const auto first = words_of(text).front();
  const bool has_label = text.find_first_not_of(' ') == indent && first.data() != word.data();
  return {.row = std::string(has_label ? first : ""),
          .column = std::string(*word_ending_at(section.lines[*head].text, end))};
}

}  // namespace attn
