#include "trace/diff/text_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "trace/diff/text_page.hpp"
#include "trace/text/table.hpp"
#include "attn/text/width.hpp"

namespace attn {

namespace {

constexpr std::size_t longest_name = 30;

/// "line 57", "line 57 in A, 58 in B", "line 57 in A only".
std::string lines_text(std::size_t a, std::size_t b, const DiffNames& names) {
  if (a == 0 || b == 0) return fmt::format("line {} in {} only", std::max(a, b), a > 0 ? names.a : names.b);
  if (a == b) return fmt::format("line {}", a);
  return "line " + in_both(fmt::format("{}", a), fmt::format("{}", b), names);
}

/// "line 57, row `sat`, column `The`".
std::string name_of(const TextPlace& place, const DiffNames& names) {
  auto text = lines_text(place.line_a, place.line_b, names);
  if (!place.row.empty()) text += fmt::format(", row `{}`", place.row);
  if (!place.column.empty()) text += fmt::format(", column `{}`", place.column);
  return text;
}

/// `scores`, or “The idea” for what is no input or step.
std::string short_name(const TextSectionDiff& section) {
  return section.is_step ? section.name : "“" + shorten(section.name, longest_name) + "”";
}

std::string full_name(const TextSectionDiff& section) {
  return (section.lesson.empty() ? "" : section.lesson + ": ") + short_name(section);
}

std::string both_lines(const TextPlace& place, const DiffNames& names) {
  const auto width = std::max(display_width(names.a), display_width(names.b));
  std::string text;
  const auto add = [&](const std::string& name, const std::string& line) {
    text += fmt::format("  {}  {}\n", pad_right(name, width), printable(line));
  };
  if (place.line_a > 0) add(names.a, place.text_a);
  if (place.line_b > 0) add(names.b, place.text_b);
  return text;
}

std::string word_text(const std::string& word) {
  if (word.empty()) return "nothing";
  return number_in(word) ? word : '`' + word + '`';
}

std::string first_sentence(const TextSectionDiff& section, const DiffNames& names) {
  if (!section.is_in_both())
    return format_paragraph(fmt::format("{} is the first to differ: {}", full_name(section),
                                        lines_text(section.line_a, section.line_b, names)));
  const auto& place = *section.first;
  auto text = fmt::format("{} differs first at {}", full_name(section), name_of(place, names));
  if (place.line_a > 0 && place.line_b > 0)
    text += ": " + in_both(word_text(place.word_a), word_text(place.word_b), names);
  return format_paragraph(text) + both_lines(place, names);
}

std::string within_tolerance_sentence(const TextDiff& diff, const DiffNames& names) {
  const TextSectionDiff* farthest = nullptr;
  for (const auto& section : diff.sections)
    if (section.farthest && (farthest == nullptr || section.max_absolute > farthest->max_absolute))
      farthest = &section;
  return fmt::format("equal within tolerance; the largest difference is {} in {} at {}\n",
                     format_error(farthest->max_absolute), short_name(*farthest),
                     name_of(*farthest->farthest, names));
}

std::vector<std::string> row_of(const TextSectionDiff& section, const DiffNames& names) {
  const auto [a, b] = std::pair(section.line_a, section.line_b);
  if (!section.is_in_both()) return {short_name(section), lines_text(a, b, names)};
  const auto lines = a == b ? fmt::format("{}", a) : fmt::format("{}, {}", a, b);
  if (section.verdict() == Verdict::equal) return {short_name(section), lines, "equal"};
  return {short_name(section),
          lines,
          format_share(section.beyond, section.numbers),
          fmt::format("{}", section.words),
          format_error(section.max_absolute),
          format_error(section.max_relative)};
}

std::string format_table(const TextDiff& diff, const DiffNames& names, bool all) {
  std::vector<std::vector<std::string>> rows = {
      {"id or heading", "lines", "numbers", "words", "max abs", "max rel"}};
  for (const auto& section : diff.sections)
    if (all || section.verdict() == Verdict::different) rows.push_back(row_of(section, names));
  return rows.size() == 1 ? "" : format_columns(rows);
}

std::string format_count(const TextDiff& diff) {
  const auto differ = std::count_if(diff.sections.begin(), diff.sections.end(), [](const auto& section) {
    return section.verdict() == Verdict::different;
  });
  return differ == 0 ? fmt::format("All {} headings agree.\n", diff.sections.size())
                     : fmt::format("{} of {} headings have differences.\n", differ, diff.sections.size());
}

}  // namespace

std::string format_diff(const TextDiff& diff, const DiffNames& names, bool all) {
  std::vector<std::string> parts = {format_options(diff.options, names)};
  if (diff.first() != nullptr) parts.push_back(first_sentence(*diff.first(), names));
  if (diff.verdict() == Verdict::within_tolerance) parts.push_back(within_tolerance_sentence(diff, names));
  parts.push_back(format_table(diff, names, all));
  std::erase(parts, "");
  const bool has_difference = !parts.empty() && diff.verdict() == Verdict::different;
  if (all || has_difference) parts.push_back(format_count(diff));
  if (!diff.claims_of_b_hold) parts.push_back(fmt::format("Not all claims hold on {}.\n", names.b));
  return fmt::format("{}", fmt::join(parts, "\n"));
}

}  // namespace attn
