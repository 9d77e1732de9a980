#pragma once

#include "fast/visibility.hpp"

namespace attn::fast {

/// Queries and keys are cut into blocks of `block` (the last ones may be shorter). Each block of queries
/// attends to the blocks of keys in its list, in rising order. With blocks of 1 the lists name single keys.
struct BlockPattern {
  std::size_t block = 64;
  std::vector<std::vector<std::size_t>> key_blocks{};  ///< [query block] lists of key blocks
};

/// The blocks fewer than `local` blocks away and every block a multiple of `stride` blocks away: the strided
/// pattern of Child et al. (2019, section 4.2), in blocks, on both sides. Block i of queries and block i of
/// keys have the same position. Throws std::invalid_argument where block or stride is 0.
BlockPattern strided_blocks(std::size_t n_q, std::size_t n_k, std::size_t block, std::size_t local,
                            std::size_t stride);

/// How many blocks a sequence is cut into.
std::size_t block_count(std::size_t length, std::size_t block);

/// Throws std::invalid_argument unless there is a list for each block of queries, in rising order, of blocks
/// that have keys.
void require_fitting(const BlockPattern& pattern, const Sizes& sizes);

/// The keys that a block of queries attends to and that are in `visible`. Adjacent blocks are one range.
std::vector<Range> key_ranges(const BlockPattern& pattern, std::size_t query_block, const Range& visible);

/// How many pairs of a query and a key the pattern keeps in a head. If causal, those with a later key do not
/// count: query i stands at position i + n_k − n_q. Throws as `require_fitting`.
std::size_t pair_count(const BlockPattern& pattern, const Sizes& sizes, bool causal);

}  // namespace attn::fast
