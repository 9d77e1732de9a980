#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <type_traits>

#include "attn/efficient/meter.hpp"
#include "attn/tensor.hpp"

namespace attn {

/// What flash attention knows about one query after a block of keys.
struct FlashState {
  std::span<const double> scores;            ///< those of the block, as far as they are visible
  double maximum;                       ///< of the scores so far
  double rescaling;                     ///< exp(old maximum − new maximum): 0 for the first block
  double sum;                           ///< Σ exp(score − maximum) over the keys so far
  std::span<const double> accumulated;  ///< Σ exp(score − maximum) value, [d_v]
};

/// Is called for each tile with the number of the key block, the query and its state.
using FlashWatcher = std::function<void(std::size_t key_block, std::size_t query, const FlashState&)>;

/// softmax(Q Kᵀ / √d_k) V in tiles of at most `block` queries × `block` keys, of which one is held at a time;
/// from tile to tile a query keeps a running maximum, a running sum and a running output, which are rescaled
/// whenever a block of keys has been read (Dao et al. 2022, algorithm 1). With `causal`, query i sees the
/// keys up to i + n_k − n_q; tiles in which nothing may be seen are not computed. Exact, whatever the size of
/// the blocks. Its plain twin is `scaled_dot_product_attention`; `fused_attention` does the same with blocks
/// of one query and one key.
///
/// Q [query×d_k], K [key×d_k], V [key×d_v] → [query×d_v]. A query that may see nothing gets zeros. Throws
/// std::invalid_argument, with both shapes, where they do not match, and for a block of 0.
Tensor<2> flash_attention(const Tensor<2>& Q, const Tensor<2>& K, const Tensor<2>& V,
                             std::size_t block, bool causal, Meter& meter,
                             const std::type_identity_t<FlashWatcher>& watch = {});

/// What a flash attention went through.
struct FlashHistory {
  Tensor<2> scores;           ///< [query×key], −∞ where none was computed
  Integers<2> tile;  ///< [query×key] the number of the tile, from 1 on; 0 likewise
  Tensor<2> maximum;          ///< [block×query]
  Tensor<2> rescaling;        ///< [block×query]
  Tensor<2> sum;              ///< [block×query]
  Tensor<2> accumulated;      ///< [block×d_v], of the last query
  Tensor<2> output;           ///< [query×d_v]

  std::int64_t tiles = 0;       ///< computed
  std::int64_t beginnings = 0;  ///< queries that met their first block of keys
  std::int64_t rescalings = 0;  ///< met a later one that raised the maximum
  std::int64_t unchanged = 0;   ///< met a later one that did not
};

/// Flash attention, watched. A query that does not see a block of keys has the state that it had before it.
/// Throws as flash_attention does.
FlashHistory flash_history(const Tensor<2>& Q, const Tensor<2>& K, const Tensor<2>& V,
                              std::size_t block, bool causal, Meter& meter);

}  // namespace attn
