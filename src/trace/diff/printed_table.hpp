#pragma once

#include <string>
#include <string_view>

#include "trace/diff/text_page.hpp"

namespace attn {

/// The labels of the row and of the column in which a word of a printed table stands; empty where they cannot
/// be told.
struct TableLabels {
  std::string row{};
  std::string column{};
};

/// `line` is an index into the lines of the section, `word` a part of that line.
TableLabels table_labels_of(const TextSection& section, std::size_t line, std::string_view word);

}  // namespace attn
