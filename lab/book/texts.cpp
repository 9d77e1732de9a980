#include "lab/book/texts.hpp"

#include <fmt/format.h>

#include "attn/error.hpp"
#include "lab/option_values.hpp"
#include "trace/wording.hpp"

namespace lab {

namespace {

std::string without_ends(std::string_view text) {
  const auto first = text.find_first_not_of(' ');
  return first == text.npos ? "" : std::string(text.substr(first, text.find_last_not_of(' ') - first + 1));
}

/// The lines, those that go on with the one before joined to it.
std::vector<std::string> entries_of(std::string_view text) {
  std::vector<std::string> entries;
  for (const auto& line : attn::lines_of(std::string(text))) {
    if (line.empty()) continue;
    const bool begins = std::string_view("[?!$").find(line[0]) != std::string_view::npos;
    if (begins || entries.empty())
      entries.push_back(line);
    else
      entries.back() += " " + without_ends(line);
  }
  return entries;
}

}  // namespace

std::vector<Exercise> exercises_of(std::string_view text) {
  std::vector<Exercise> exercises;
  std::string lesson;
  for (const auto& entry : entries_of(text)) {
    const auto words = without_ends(entry.substr(1));
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
      paragraphs.back() += " " + without_ends(line);
  }
  for (const auto& paragraph : paragraphs) {
    const auto colon = paragraph.find(": ");
    const auto arrow = paragraph.rfind("-> ");
    Term term{.name = paragraph.substr(0, colon),
              .meaning = without_ends(
                  paragraph.substr(colon + 2, arrow == paragraph.npos ? arrow : arrow - colon - 2)),
              .lessons = {}};
    if (arrow != paragraph.npos)
      for (const auto& lesson : split(paragraph.substr(arrow + 3), ','))
        term.lessons.push_back(without_ends(lesson));
    terms.push_back(std::move(term));
  }
  return terms;
}

}  // namespace lab
