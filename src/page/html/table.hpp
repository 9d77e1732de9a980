#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "page/page.hpp"

namespace attn::html {

/// What stands in the cell of an element, for paper: without shades, and nothing where there is a blank to
/// write in.
using Written = std::function<std::string(std::size_t offset)>;

/// A table as markup: every grid has a table of its own, side by side or one at a time as the reader chooses.
/// Cells are shaded by their values, shares of attention from 0 to 1, other numbers by their size and sign.
/// Rows of attention end with the key that has the largest share of it. `id` is the tensor's and `number`
/// what the page's script calls it.
std::string table_markup(const std::string& id, const page::Table& table, std::size_t number,
                         const Written& written = {});

}  // namespace attn::html
