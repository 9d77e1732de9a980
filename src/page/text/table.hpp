#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "page/page.hpp"
#include "trace/event.hpp"

namespace attn {

/// How a text trace looks.
struct TextStyle {
  int precision = 4;  ///< digits after the decimal point
  bool full = false;  ///< never elide a large tensor
  bool all = false;   ///< everything that the run computed, in that order; else what belongs on the page
  bool color = false;
  bool plain = false;      ///< ASCII and sentences, for screen readers and old terminals
  std::size_t width = 80;  ///< columns, 20 or more; wider tensors are split into blocks of columns
};

/// A table as it is printed, and what of it is not.
struct PrintedTable {
  std::string lines;
  bool leaves_out_columns = false;
  bool leaves_out_padding = false;
};

/// A table as lines of text, indented by two columns. Rows of attention end with the key that has the largest
/// share of it; on a page that has no room for whole rows each lists its largest shares, and --full has them
/// all. A plain one has a sentence for each row instead: "weights: cat looks at the 0.53, on 0.19". `id` is
/// the tensor's.
PrintedTable format_table(const std::string& id, const page::Table& table, const TextStyle& style);

/// Colours of one cell, as indices of the palette of 256 colours that terminals share with xterm.
struct CellColor {
  int background = 0;
  int foreground = 0;
};

/// The colour of a share of attention: light blue for a little, dark blue for all of it, with black or white
/// digits, whichever is easier to read. None for a share of 0: what gets no attention stays unshaded.
std::optional<CellColor> cell_color(double share);

}  // namespace attn
