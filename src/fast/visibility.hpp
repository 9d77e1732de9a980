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

/// The keys that a query of a sample sees. Causality, a window and padding at the end leave one range of
/// keys, whose begin and end never decrease from one query to the next.
Range visible_keys(const Sizes& sizes, const Visibility& visible, std::size_t sample, std::size_t query);

/// The smallest range of keys that contains all keys that a query of the block sees.
Range visible_keys(const Sizes& sizes, const Visibility& visible, std::size_t sample, const Range& queries);

}  // namespace attn::fast
