#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "trace/event.hpp"

namespace attn::html {

/// How the tables of a page look.
struct TableStyle {
  int precision = 4;              ///< digits after the point
  std::size_t most_cells = 1000;  ///< of a tensor beyond which the middle of its long axes is left out

  /// What stands in the cell of an element, for paper: without shades, and nothing where there is a blank to
  /// write in.
  std::function<std::string(std::size_t offset)> cell{};
};

/// A tensor as tables, and what they show of it.
struct Tables {
  std::string markup;
  std::vector<std::size_t> cells{};  ///< offsets of the elements in the tables
  bool is_elided = false;
};

/// A tensor of rank 1 or more: its last two axes are the rows and the columns of a table, every entry of the
/// axes before them has a table of its own, side by side or one at a time as the reader chooses. A vector is
/// one row. Cells are shaded by their values, shares of attention from 0 to 1, other numbers by their size
/// and sign. Rows of attention end with the key that has the largest share of it. `number` is what the page's
/// script calls the tensor.
Tables tables_of(const Event& event, std::size_t number, const TableStyle& style);

}  // namespace attn::html
