#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "attn/tensor.hpp"
#include "fast/ranks/network.hpp"

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

/// Exact attention of a sequence with itself whose tokens are spread over ranks (Liu et al. 2023, "Ring
/// Attention with Blockwise Transformers"). The sizes are those of the whole, n_q = n_k.
struct RingProblem {
  Sizes sizes;
  Visibility visible{};  ///< by position in the whole sequence
  Order order = Order::contiguous;
  double scale = 1.0;  ///< usually 1/√d_k
  int threads = 1;     ///< of a rank
};

/// What a rank has of a sequence: the rows of its positions.
template <class T>
struct RankBlock {
  Array<T, 4> query;                                      ///< [batch×head×query×d_k]
  Array<T, 4> key;                                        ///< [batch×kv_head×key×d_k]
  Array<T, 4> value;                                      ///< [batch×kv_head×key×d_v]
  Array<T, 4> output{};                                   ///< [batch×head×query×d_v]
  Array<T, 3> log_sum_exp{};                              ///< [batch×head×query]
  Array<T, 4> d_output{}, d_query{}, d_key{}, d_value{};  ///< backward alone
};

/// Computes `output` and `log_sum_exp` of the blocks of the ranks that the network plays here, in the order
/// of the ranks. At each hop a rank attends to the keys and values that it has while they go on to the next
/// rank; what it finds is merged with what it found before. A query that sees no key gets zeros. Nothing
/// depends on when a transfer ends.
///
/// Throws std::invalid_argument where there is not one block for each of those ranks, one has another shape
/// than its positions ask for, or n_q is not n_k.
template <class T>
void ring_forward(const RingProblem& problem, Network& network, std::vector<RankBlock<T>>& blocks);

/// The gradients of L = Σ output · d_output, after `ring_forward`. The gradients of keys and values travel
/// behind these, a hop later, and get home after the last hop.
template <class T>
void ring_backward(const RingProblem& problem, Network& network, std::vector<RankBlock<T>>& blocks);

/// Bytes that a rank sends: forward its own keys and values and all that it passes on, every block but that
/// of the rank behind it; backward the same, and all gradients of keys and values.
std::uint64_t ring_bytes_forward(const RingProblem& problem, std::size_t ranks, std::size_t rank,
                                 std::size_t item_size);
std::uint64_t ring_bytes_backward(const RingProblem& problem, std::size_t ranks, std::size_t rank,
                                  std::size_t item_size);

/// Pairs of a query and a key that it sees, of the rank with the most over those of the one with the fewest;
/// infinite where a rank has none.
double ring_imbalance(const RingProblem& problem, std::size_t ranks);

}  // namespace attn::fast
