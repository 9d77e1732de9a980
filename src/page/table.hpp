#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "page/page.hpp"

namespace attn::page {

/// The table of a tensor of rank 1 or more: its last two axes are the rows and the columns, every entry of
/// the axes before them has a grid of its own. A vector is one row. Of a tensor with more than `most_cells`
/// elements only both ends of its long axes are there and, of shares, the row that is worked out.
/// `precision` is the digits after the point.
Table table_of(const Event& event, int precision, std::size_t most_cells);

/// Offsets of the elements that a table shows.
std::vector<std::size_t> offsets_of(const Table& table);

/// The keys with the largest share in the row that begins at `offset`; none where no share is more than 0.
/// Shares that differ by rounding only count as the same, so that the page does not depend on the machine.
std::vector<std::size_t> strongest_keys(const TensorView& tensor, std::size_t offset);

/// "the", "2 × the" of equal names, "3 tied" of others.
std::string name_of_tied(const std::vector<std::string>& names);

/// Whether a row of attention leaves a key out altogether: its share is exactly 0 and stands as "·".
bool has_hidden_keys(const Event& event);

}  // namespace attn::page
