#include "page/notes.hpp"

#include <algorithm>
#include <cctype>
#include <string_view>

#include "trace/wording.hpp"

namespace attn::page {

namespace {

/// Whether lines have words or their numbers in their first column: "m   the largest score".
bool is_table_of_words(const std::vector<std::string>& lines) {
  const auto is_word = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view(" ,-").find(c) != std::string_view::npos;
  };
  return std::any_of(lines.begin(), lines.end(), [&](const std::string& line) {
    const auto gap = line.find("  ");
    return gap != line.npos && gap > 0 &&
           std::all_of(line.begin(), line.begin() + static_cast<std::ptrdiff_t>(gap), is_word) &&
           line[gap - 1] != ',';
  });
}

/// "attnlab sdpa --causal   hide the words to come", or the remark on an indented line below the command.
Commands commands_of(const std::vector<std::string>& lines) {
  Commands commands;
  for (const auto& line : lines) {
    const auto start = line.find_first_not_of(' ');
    if (start == line.npos) continue;
    const auto gap = line.find("   ", start);
    if (start == 0) commands.list.push_back({line.substr(0, gap)});
    const auto remark = start > 0 ? line.substr(start) : gap == line.npos ? "" : line.substr(gap + 3);
    if (!remark.empty() && !commands.list.empty()) commands.list.back().remark += remark;
  }
  return commands;
}

Block block_of(const Event& event) {
  auto lines = lines_of(event.formula);
  const auto name = last_of_path(event.id);
  if (name == "flow") return Diagram{std::move(lines)};
  if (name == "next") return commands_of(lines);
  if (name == "code") return Code{std::move(lines)};
  if (name == "idea" && !is_table_of_words(lines)) return Formulas{std::move(lines)};
  return Layout{std::move(lines)};
}

}  // namespace

Note note_of(const Event& event) {
  Note note{.id = event.id, .title = (event.kind == Kind::mistake ? "Mistake: " : "") + event.title};
  const auto& words = event.notice.empty() ? event.note : event.notice;
  if (!words.empty()) note.paragraphs = lines_of(words);
  if (!event.formula.empty()) note.blocks.push_back(block_of(event));
  return note;
}

}  // namespace attn::page
