#pragma once

#include "attn/layers/multihead_attention.hpp"
#include "attn/tensor.hpp"

namespace attn {

/// The keys and values of all tokens that a causal decoder has read. A later token needs them again but never
/// changes them, so they are kept, and each new token only adds its own (Shazeer 2019, section 2.4).
/// Instantiated for float and double.
class KeyValueCache {
 public:
  /// An empty cache.
  KeyValueCache(std::size_t batch, std::size_t kv_heads, std::size_t d_k, std::size_t d_v);

  /// Adds the keys [batch×kv_head×new×d_k] and the values [batch×kv_head×new×d_v] of new tokens behind the
  /// others. Throws std::invalid_argument, with both shapes, where they do not match those that are there.
  void append(const Tensor<4>& keys, const Tensor<4>& values);

  const Tensor<4>& keys() const { return keys_; }      ///< [batch×kv_head×token×d_k]
  const Tensor<4>& values() const { return values_; }  ///< [batch×kv_head×token×d_v]

  /// How many tokens it holds.
  std::size_t length() const { return keys_.shape(2); }

  /// What its numbers take up in memory.
  std::size_t bytes() const { return (keys_.size() + values_.size()) * sizeof(double); }

 private:
  Tensor<4> keys_, values_;
};

/// Causal multi-head attention of new tokens X [batch×new×d_model], which continue those in the cache: it
/// takes theirs in, and each new token sees all before it and itself. In the result Q, K and V are of the new
/// tokens, K_heads and V_heads are all that is in the cache, and scores and weights are
/// [batch×head×new×token].
/// Throws std::invalid_argument where shapes or numbers of heads do not match.
MultiHeadAttention cached_multihead_attention(const Tensor<3>& X, const MultiHeadWeights& weights,
                                                 std::size_t heads, KeyValueCache& cache);

}  // namespace attn
