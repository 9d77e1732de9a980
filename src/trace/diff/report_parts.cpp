#include "trace/diff/report_parts.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "trace/text/table.hpp"
#include "attn/text/width.hpp"

namespace attn {

namespace {

constexpr std::size_t width = 80;
constexpr std::size_t indent = 2;
constexpr std::size_t left_columns = 2;

std::string value_text(const ConfigValue& value) {
  return std::holds_alternative<std::monostate>(value) ? "unset" : to_string(value);
}

std::string with_blanks_trimmed(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

}  // namespace

std::string in_both(const std::string& a, const std::string& b, const DiffNames& names) {
  return fmt::format("{} in {}, {} in {}", a, names.a, b, names.b);
}

std::string format_error(double error) {
  return fmt::format("{:.2g}", error);
}

std::string format_share(std::size_t part, std::size_t whole) {
  return fmt::format("{} of {}", part, whole);
}

std::string format_paragraph(const std::string& text) {
  std::string paragraph;
  for (const auto& line : wrap(text, width - indent))
    paragraph += std::string(paragraph.empty() ? 0 : indent, ' ') + printable(line) + '\n';
  return paragraph;
}

std::string format_columns(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths(rows.empty() ? 0 : rows.front().size());
  for (const auto& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i)
      if (i + 1 < row.size() || row.size() == widths.size())
        widths[i] = std::max(widths[i], display_width(row[i]));
  std::string text;
  for (const auto& row : rows) {
    std::string line(indent, ' ');
    for (std::size_t i = 0; i < row.size(); ++i) {
      const bool is_remark = i + 1 == row.size() && row.size() < widths.size();
      const bool is_left = i < left_columns || is_remark;
      line += (i > 0 ? "  " : "") + (is_left ? pad_right(row[i], widths[i]) : pad_left(row[i], widths[i]));
    }
    text += with_blanks_trimmed(std::move(line)) + '\n';
  }
  return text;
}

std::string format_options(const std::vector<OptionDiff>& options, const DiffNames& names) {
  if (options.empty()) return "";
  std::string text = "Configurations differ\n";
  for (const auto& [name, a, b] : options)
    text +=
        "  " + format_paragraph(fmt::format("{}: {}", name, in_both(value_text(a), value_text(b), names)));
  return text;
}

}  // namespace attn
