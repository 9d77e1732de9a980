#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "attn/kernels/meter.hpp"
#include "attn/tensor.hpp"

namespace attn {

/// What flash attention knows about one query after a block of keys.
struct FlashState {
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
/// std::invalid_argument, with both shapes, where they do not match.
template <class T>
Tensor<T, 2> flash_attention(const Tensor<T, 2>& Q, const Tensor<T, 2>& K, const Tensor<T, 2>& V,
                             std::size_t block, bool causal, Meter& meter, const FlashWatcher& watch = {});

/// What a flash attention went through.
template <class T>
struct FlashHistory {
  Tensor<T, 2> maximum;      ///< [block×query]
  Tensor<T, 2> rescaling;    ///< [block×query]
  Tensor<T, 2> sum;          ///< [block×query]
  Tensor<T, 2> accumulated;  ///< [block×d_v], of the last query
  Tensor<T, 2> output;       ///< [query×d_v]
};

/// Flash attention, watched. A query that does not see a block of keys has the state that it had before it.
template <class T>
FlashHistory<T> flash_history(const Tensor<T, 2>& Q, const Tensor<T, 2>& K, const Tensor<T, 2>& V,
                              std::size_t block, bool causal, Meter& meter);

}  // namespace attn
