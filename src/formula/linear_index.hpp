#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "formula/sheet.hpp"

namespace formula {

/// An index that grows by equal steps along axes: `head * size(d_k) + d_k` is 0, and size(d_k) more for each
/// head, and 1 more for each d_k.
struct LinearIndex {
  std::ptrdiff_t first = 0;
  std::map<std::string, std::ptrdiff_t> steps{};
};

/// The index as such a one; nothing where it is none.
std::optional<LinearIndex> linear_index(const Expr& index, const Sheet& sheet);

/// The least of its places along the axes, and the last one.
std::pair<std::ptrdiff_t, std::ptrdiff_t> range_of(const LinearIndex& index, const Sheet& sheet);

/// All of them; nothing where one is none, or leaves a tensor of that shape.
std::optional<std::vector<LinearIndex>> linear_indices(const std::vector<Expr>& indices, const Sheet& sheet,
                                                       const attn::Shape& shape);

}  // namespace formula
