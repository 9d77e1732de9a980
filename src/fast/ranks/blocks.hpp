#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace attn::fast {

/// Which positions of a sequence a rank holds.
enum class Order {
  contiguous,  ///< neighbours
  striped,     ///< every P-th: Brandon et al. 2023, "Striped Attention"
  zigzag       ///< of 2 P parts the r-th from either end: the context parallelism of Llama 3
};

/// "contiguous", "striped", "zigzag".
std::string_view name_of(Order order);
const std::vector<Order>& all_orders();

/// [rank] the positions that each rank holds, rising. Parts differ by a position where n cannot be divided
/// evenly, and a rank may have none.
std::vector<std::vector<std::size_t>> blocks_of(Order order, std::size_t n, std::size_t ranks);

/// The rank whose keys and values a rank has at a hop: they began at their own rank and go to the next one
/// at each hop.
std::size_t owner_at_hop(std::size_t rank, std::size_t hop, std::size_t ranks);

}  // namespace attn::fast
