#include "fast/ranks/blocks.hpp"

#include <numeric>

namespace attn::fast {

namespace {

using Positions = std::vector<std::size_t>;

/// Part `index` of a sequence that is cut into `count` parts of nearly one length.
Positions part_of(std::size_t n, std::size_t index, std::size_t count) {
  const std::size_t begin = index * n / count, end = (index + 1) * n / count;
  Positions positions(end - begin);
  std::iota(positions.begin(), positions.end(), begin);
  return positions;
}

Positions every(std::size_t step, std::size_t first, std::size_t n) {
  Positions positions;
  for (std::size_t position = first; position < n; position += step) positions.push_back(position);
  return positions;
}

Positions from_both_ends(std::size_t n, std::size_t rank, std::size_t ranks) {
  auto positions = part_of(n, rank, 2 * ranks);
  const auto last = part_of(n, 2 * ranks - 1 - rank, 2 * ranks);
  positions.insert(positions.end(), last.begin(), last.end());
  return positions;
}

}  // namespace

std::string_view name_of(Order order) {
  switch (order) {
    case Order::striped:
      return "striped";
    case Order::zigzag:
      return "zigzag";
    default:
      return "contiguous";
  }
}

const std::vector<Order>& all_orders() {
  static const std::vector<Order> orders = {Order::contiguous, Order::striped, Order::zigzag};
  return orders;
}

std::vector<Positions> blocks_of(Order order, std::size_t n, std::size_t ranks) {
  std::vector<Positions> blocks;
  for (std::size_t rank = 0; rank < ranks; ++rank)
    blocks.push_back(order == Order::striped  ? every(ranks, rank, n)
                     : order == Order::zigzag ? from_both_ends(n, rank, ranks)
                                              : part_of(n, rank, ranks));
  return blocks;
}

std::size_t owner_at_hop(std::size_t rank, std::size_t hop, std::size_t ranks) {
  return (rank + ranks - hop % ranks) % ranks;
}

}  // namespace attn::fast
