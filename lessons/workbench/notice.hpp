#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace lessons {

/// A small table for a note: the first column begins at the left, all others end at the right, two spaces
/// apart. A row may have fewer cells than others; a column that says nothing in any row takes no room.
std::string in_columns(const std::vector<std::vector<std::string>>& rows);

/// The places 0 … count − 1 of a list that is shown; where there are more than `most`, the first and the last
/// ones with nothing between them.
std::vector<std::optional<std::size_t>> places_shown(std::size_t count, std::size_t most);

}  // namespace lessons
