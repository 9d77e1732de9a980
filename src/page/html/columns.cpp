#include "page/html/columns.hpp"

#include "attn/text/utf8.hpp"
#include "attn/text/width.hpp"

namespace attn::html {

Columns columns_of(const std::string& line) {
  Columns columns;
  for (const auto cluster : grapheme_clusters(line)) {
    const auto width = display_width(cluster);
    if (width == 0 && !columns.empty()) {
      columns.back() += cluster;
      continue;
    }
    columns.emplace_back(cluster);
    if (width == 2) columns.emplace_back();
  }
  return columns;
}

}  // namespace attn::html
