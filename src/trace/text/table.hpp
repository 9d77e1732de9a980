#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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

/// Whether the table of such a tensor leaves out all but the edges of its long axes, as NumPy does.
bool is_elided(const TensorView& tensor, const TextStyle& style);

/// A tensor of rank 0 as one number.
std::string format_scalar(const TensorView& tensor, const TextStyle& style);

/// A tensor of rank 1 or more as lines of text, indented by two columns: its last two axes are the rows and
/// the columns of a table, every entry of the axes before them has a table with a caption. A vector is one
/// row. Rows of attention end with the key that has the largest share of it; on a page that has no room for
/// whole rows each lists its largest shares, and --full has them all.
/// A plain one has a sentence for each row instead: "weights: cat looks at the 0.53, on 0.19".
std::string format_table(const Event& event, const TextStyle& style);

/// The keys with the largest share in the row that begins at `offset`; none where no share is more than 0.
/// Shares that differ by rounding only count as the same, so that the page does not depend on the machine.
std::vector<std::size_t> strongest_keys(const TensorView& tensor, std::size_t offset);

/// "the", "2 × the" of equal names, "3 tied" of others.
std::string name_of_tied(const std::vector<std::string>& names);

/// Whether a row of attention leaves a key out altogether: its share is exactly 0 and stands as "·".
bool has_hidden_keys(const Event& event);

/// The text with signs in place of the characters that would move the cursor or reorder a line.
std::string printable(std::string_view text);

/// Colours of one cell, as indices of the palette of 256 colours that terminals share with xterm.
struct CellColor {
  int background = 0;
  int foreground = 0;
};

/// The colour of a share of attention: light blue for a little, dark blue for all of it, with black or white
/// digits, whichever is easier to read. None for a share of 0: what gets no attention stays unshaded.
std::optional<CellColor> cell_color(double share);

}  // namespace attn
