#include "lab/bench/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "attn/text/width.hpp"

namespace lab {

std::string report_heading(const std::string& title, const std::string& options) {
  std::string rule;
  for (std::size_t i = 0; i < page_width; ++i) rule += "─";
  return title + "\n" + rule + "\n" + page_paragraph(options, 2);
}

std::string words_on_masks(const attn::bench::Setting& setting) {
  return (setting.causal ? "  causal" : "") +
         (setting.window ? fmt::format("  window={}", *setting.window) : std::string());
}

Unit unit_for(double seconds) {
  if (seconds < 1e-3) return {"µs", 1e6};
  if (seconds < 1.0) return {"ms", 1e3};
  return {"s", 1.0};
}

std::string digits(double value) {
  const int before_point = value > 0.0 ? static_cast<int>(std::floor(std::log10(value))) + 1 : 1;
  return fmt::format("{:.{}f}", value, std::clamp(3 - before_point, 0, 2));
}

std::string in_time(double seconds) {
  const auto unit = unit_for(seconds);
  return fmt::format("{} {}", digits(seconds * unit.per_second), unit.name);
}

std::string aligned(const std::vector<Row>& rows) {
  std::vector<std::size_t> widths(rows.front().size());
  for (const auto& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], attn::display_width(row[i]));
  std::size_t all = 2;
  for (const std::size_t column : widths) all += column;
  const std::size_t gap = all + 2 * (widths.size() - 1) <= page_width ? 2 : 1;

  std::string text;
  for (const auto& row : rows) {
    std::string line = "  " + attn::pad_right(row.front(), widths.front());
    for (std::size_t i = 1; i < row.size(); ++i)
      line += std::string(gap, ' ') + attn::pad_left(row[i], widths[i]);
    text += line.substr(0, line.find_last_not_of(' ') + 1) + '\n';
  }
  return text;
}

std::string page_paragraph(const std::string& text, std::size_t indent) {
  return attn::paragraph(text, page_width, indent);
}

}  // namespace lab
