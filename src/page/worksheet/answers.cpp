#include "page/worksheet/answers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <string_view>

#include "attn/text/trim.hpp"
#include "attn/text/utf8.hpp"
#include "trace/json/strict.hpp"

namespace attn {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::uint64_t largest_sheet = 1 << 20;  // bytes
constexpr std::string_view white_space = " \t\r\n";
constexpr std::string_view of_command = "attnlab worksheet ";
constexpr std::string_view of_name = "Name:";

/// "scores" of the line "1  scores = Q Kᵀ", "T=1/output" of "3  T=1/output: weights · values"; nothing of
/// other lines.
std::string_view step_of_heading(std::string_view line) {
  const auto number = line.find_first_not_of("0123456789");
  if (number == 0 || number == line.npos || !line.substr(number).starts_with("  ")) return {};
  line = trimmed(line.substr(number));
  line = line.substr(0, line.find_first_of(white_space));
  return line.substr(0, line.find(':'));
}

/// What stands between the bars of a row, from its first cell on.
std::vector<std::string> cells_of_row(std::string_view line) {
  std::vector<std::string> cells;
  line.remove_suffix(1);
  for (auto bar = line.rfind('|'); bar != line.npos; bar = line.rfind('|')) {
    cells.emplace_back(trimmed(line.substr(bar + 1), " \t_"));
    line = line.substr(0, bar);
  }
  std::reverse(cells.begin(), cells.end());
  return cells;
}

Answers answers_in_text(std::string_view text, const std::string& path) {
  Answers answers;
  std::string step;
  std::istringstream lines{std::string(text.substr(0, text.find('\f')))};
  for (std::string line; std::getline(lines, line);) {
    const auto seen = trimmed(line);
    if (answers.command.empty() && seen.starts_with(of_command)) answers.command = seen;
    if (answers.student.empty() && seen.starts_with(of_name))
      answers.student = trimmed(seen.substr(of_name.size()), " \t_");
    if (const auto heading = step_of_heading(line); !heading.empty()) step = heading;
    if (step.empty() || !seen.ends_with('|')) continue;
    for (auto& cell : cells_of_row(seen)) answers.cells[step].push_back(std::move(cell));
  }
  if (answers.command.empty())
    refuse(path, "it is a worksheet without the command that made it",
           "the line \"attnlab worksheet LESSON --seed N\" below its title");
  return answers;
}

/// Keeps numbers as they are written: 0.30 has a digit more than 0.3.
class JsonAsWritten : public StrictJson<Json> {
 public:
  using StrictJson<Json>::StrictJson;
  bool number_integer(number_integer_t value) override { return add(std::to_string(value)); }
  bool number_unsigned(number_unsigned_t value) override { return add(std::to_string(value)); }
  bool number_float(number_float_t, const string_t& text) override { return add(text); }
};

void add_cells(const Json& value, std::vector<std::string>& cells, const std::string& place) {
  if (value.is_array()) {
    for (const auto& item : value) add_cells(item, cells, place);
  } else if (value.is_null()) {
    cells.emplace_back();
  } else if (value.is_string()) {
    cells.push_back(value.get<std::string>());
  } else {
    refuse(place, "it is neither a number, a text nor null", "[[1, \"3/7\", null], …]");
  }
}

std::optional<Answers> answers_in_json(const std::string& text, const std::string& path) {
  JsonAsWritten builder(path);
  Json::sax_parse(text, &builder);
  const auto document = builder.take();
  if (!document.is_object() || !document.contains("worksheet")) return std::nullopt;
  const auto& command = document["worksheet"];
  if (!command.is_string() || !command.get<std::string>().starts_with(of_command))
    refuse(path, "its \"worksheet\" is not the command that made it",
           "\"attnlab worksheet LESSON --seed N\"");
  Answers answers{.command = command.get<std::string>()};
  if (document.contains("name") && document["name"].is_string())
    answers.student = document["name"].get<std::string>();
  for (const auto& [id, value] : document.items())
    if (id != "worksheet" && id != "name") add_cells(value, answers.cells[id], path + ": " + id);
  return answers;
}

}  // namespace

std::optional<Answers> read_answers(const File& file) {
  if (file.bytes().size() > largest_sheet) return std::nullopt;
  auto text = file.bytes();
  constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
  if (text.starts_with(byte_order_mark)) text.erase(0, byte_order_mark.size());
  const auto start = text.find_first_not_of(white_space);
  if (start == text.npos) return std::nullopt;
  if (text.starts_with("<!DOCTYPE html") && text.find("<title>Worksheet: ") != text.npos)
    refuse(file.path(), "it is a worksheet to be printed",
           "the text sheet that its command prints, filled in");
  const bool may_be_json = text[start] == '{' && text.find("\"worksheet\"") != text.npos;
  const bool is_sheet = std::string_view(text).substr(start).starts_with("worksheet ");
  if (!may_be_json && !is_sheet) return std::nullopt;
  require_valid_utf8(text, file.path());
  return is_sheet ? answers_in_text(text, file.path()) : answers_in_json(text, file.path());
}

}  // namespace attn
