#pragma once

#include <string>
#include <vector>

#include "page/svg/panel.hpp"

namespace attn::svg {

/// The distance between panels.
inline constexpr double panel_gap = 20.0;

/// The words in lines of that width.
Drawing lines_of_text(const std::string& words, double width, double size, std::string_view style);

void put_below(Drawing& above, double distance, const Drawing& drawing);
void put_beside(Drawing& left, double distance, const Drawing& drawing);

using Panels = std::vector<const Panel*>;

/// In the middle of that width.
Drawing in_the_middle(Drawing drawing, double width);

/// What panels of one kind would like to have in one row.
Room wished_room(const Panels& panels, const Kind& kind);

/// Panels of one kind beside each other and below one another, each with its caption, in as many columns as
/// give each the most room, or in so many where they leave enough of it; no wider than the room, unless one
/// panel alone is. A neighbour's labels stand for those of a panel where they are the same.
Drawing grid(const Panels& panels, const Kind& kind, const Look& look, const Room& room,
             std::size_t wanted_columns);

}  // namespace attn::svg
