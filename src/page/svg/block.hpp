#pragma once

#include <optional>
#include <string>
#include <vector>

#include "page/svg/figure.hpp"

namespace attn::svg {

/// Panels with the same axes, which share a scale and a legend.
struct Block {
  std::vector<const Figure*> figures{};
  Look look{};
  std::size_t columns = 0;     ///< of its grid; 0 where any number will do
  bool begins_column = false;  ///< beside all that comes before

  const Kind& kind() const { return *figures[0]->kind; }
};

/// The panels in blocks, in the order that they have. `is_scale_largest`: the scale of shares ends at the
/// largest, and not at 1; where not given, it does so where all are small.
std::vector<Block> blocks_of(const std::vector<Figure>& figures, std::optional<bool> is_scale_largest);

/// What rows, columns, colours and the scale are, in words.
std::string explanation(const Block& block);

/// Whether blocks beside each other have enough room in such a width.
bool stand_beside(const std::vector<Block>& blocks, double width);

/// Blocks beside each other, or below one another, each with what its colours mean below it, and the words
/// that stand below all.
Drawing draw(const std::vector<Block>& blocks, const Room& room, const Drawing& words);

}  // namespace attn::svg
