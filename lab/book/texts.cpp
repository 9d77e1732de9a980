#include "lab/book/texts.hpp"

#include <fmt/format.h>

#include "attn/text/trim.hpp"
#include "lab/option_values.hpp"
#include "trace/wording.hpp"

namespace lab {

namespace {

/// The lines, those that go on with the one before joined to it.
std::vector<std::string> entries_of(std::string_view text) {
  std::vector<std::string> entries;
  for (const auto& line : attn::lines_of(std::string(text))) {
    if (line.empty()) continue;
    const bool begins = std::string_view("[?!$").find(line[0]) != std::string_view::npos;
    if (begins || entries.empty())
      entries.push_back(line);
    else
      entries.back() += fmt::format(" {}", attn::trimmed(line));
  }
  return entries;
}

}  // namespace

std::vector<Exercise> exercises_of(std::string_view text) {
  std::vector<Exercise> exercises;
  std::string lesson;
  for (const auto& entry : entries_of(text)) {
    const std::string words(attn::trimmed(std::string_view(entry).substr(1)));
    if (entry[0] == '[')
      lesson = words.substr(0, words.find(']'));
    else if (entry[0] == '?')
      exercises.push_back({lesson, words, "", ""});
    else if (!exercises.empty())
      (entry[0] == '!' ? exercises.back().answer : exercises.back().command) = words;
  }
  return exercises;
}

std::vector<Term> terms_of(std::string_view text) {
  std::vector<Term> terms;
  bool is_new = true;
  std::vector<std::string> paragraphs;
  for (const auto& line : attn::lines_of(std::string(text))) {
    if (line.empty())
      is_new = true;
    else if (std::exchange(is_new, false))
      paragraphs.push_back(line);
    else
      paragraphs.back() += fmt::format(" {}", attn::trimmed(line));
  }
  for (const auto& paragraph : paragraphs) {
    const auto colon = paragraph.find(": ");
    const auto arrow = paragraph.rfind("-> ");
    Term term{.name = paragraph.substr(0, colon),
              .meaning = paragraph.substr(colon + 2, arrow == paragraph.npos ? arrow : arrow - colon - 3),
              .lessons = {}};
    if (arrow != paragraph.npos) term.lessons = split(paragraph.substr(arrow + 3), ',');
    terms.push_back(std::move(term));
  }
  return terms;
}

}  // namespace lab
