#pragma once

#include <optional>

namespace attn {

/// Colours of one cell, as indices of the palette of 256 colours that terminals share with xterm.
struct CellColor {
  int background = 0;
  int foreground = 0;
};

/// The colour of a share of attention: light blue for a little, dark blue for all of it, with black or white
/// digits, whichever is easier to read. None for a share of 0: what gets no attention stays unshaded.
std::optional<CellColor> heat(double share);

}  // namespace attn
