#include "lessons/workbench/notice.hpp"

#include <algorithm>

#include "attn/text/width.hpp"

namespace lessons {

std::string in_columns(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()), 0);
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], attn::display_width(row[i]));
  }
  std::string table;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i)
      if (widths[i] > 0)
        line += line.empty() ? attn::pad_right(row[i], widths[i]) : "  " + attn::pad_left(row[i], widths[i]);
    if (!table.empty()) table += '\n';
    table += line.substr(0, line.find_last_not_of(' ') + 1);
  }
  return table;
}

std::vector<std::optional<std::size_t>> places_shown(std::size_t count, std::size_t most) {
  std::vector<std::optional<std::size_t>> places;
  const std::size_t last = count <= most ? 0 : most / 2, first = count <= most ? count : most - last;
  for (std::size_t i = 0; i < first; ++i) places.emplace_back(i);
  if (last > 0) places.emplace_back();
  for (std::size_t i = count - last; last > 0 && i < count; ++i) places.emplace_back(i);
  return places;
}

}  // namespace lessons
