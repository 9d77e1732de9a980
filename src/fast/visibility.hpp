#pragma once

#include <cstddef>
#include <optional>
#include <vector>

/// Fast kernels for attention, and what measures them.
namespace attn::fast {

/// Lengths of the axes of one call; n and d may be 0. Query head i reads the keys and values of head
/// ⌊i · kv_heads / heads⌋.
struct Sizes {
  std::size_t samples = 1;
  std::size_t heads = 1;
  std::size_t kv_heads = 1;  ///< divides heads
  std::size_t n_q = 1;
  std::size_t n_k = 1;
  std::size_t d_k = 1;
  std::size_t d_v = 1;
};

/// Which keys a query may see. Query i stands at position i + n_k − n_q and key j at position j, unless they
/// are a part of a longer sequence and have positions of their own.
struct Visibility {
  bool causal = false;                         ///< no later key
  std::optional<std::size_t> window{};         ///< no key more than this many positions away
  std::vector<std::size_t> key_lengths{};      ///< [sample] positions before the padding; all where empty
  std::vector<std::size_t> query_positions{};  ///< [query] rising
  std::vector<std::size_t> key_positions{};    ///< [key] rising
};

/// The positions begin, …, end − 1; none where begin == end.
struct Range {
  std::size_t begin = 0;
  std::size_t end = 0;

  std::size_t size() const { return end - begin; }
  bool empty() const { return begin == end; }
};

/// What is in both ranges; empty where nothing is.
Range common(const Range& a, const Range& b);

/// 0, …, length − 1 in ranges of `step`; the last one may be shorter.
std::vector<Range> cut(std::size_t length, std::size_t step);

/// The keys that a query of a sample sees. Causality, a window and padding at the end leave one range of
/// keys, whose begin and end never decrease from one query to the next.
Range visible_keys(const Sizes& sizes, const Visibility& visible, std::size_t sample, std::size_t query);

/// The smallest range of keys that contains all keys that a query of the block sees.
Range visible_keys(const Sizes& sizes, const Visibility& visible, std::size_t sample, const Range& queries);

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

}  // namespace attn::fast
