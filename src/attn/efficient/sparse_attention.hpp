#pragma once

#include <vector>

#include "attn/efficient/key_lists.hpp"
#include "attn/efficient/meter.hpp"
#include "attn/tensor.hpp"

namespace attn {

/// Attention to some of the keys, and what it is made of.
struct SparseAttention {
  std::vector<double> weights;  ///< one for each pair that was computed, query after query
  Tensor<2> output;     ///< [query×d_v]
};

/// softmax(q kᵀ / √d_k) V over the listed pairs and no others: the scores of all other pairs are neither
/// computed nor held (Child et al. 2019). With all pairs listed it is full attention. Its plain twin is
/// `scaled_dot_product_attention` under the mask `mask_of(keys, n_k)`, which computes every score and then
/// hides most.
///
/// Q [query×d_k], K [key×d_k], V [key×d_v], keys a list for each query. A query without keys gets zeros.
/// Throws std::invalid_argument, with both shapes, where they do not match.
SparseAttention sparse_attention(const Tensor<2>& Q, const Tensor<2>& K, const Tensor<2>& V,
                                    const KeyLists& keys, Meter& meter);

/// The weights as a square to look at, [query×key] with 0 where nothing was computed. `keys` are those that
/// attention was called with, each less than n_k.
Tensor<2> scatter(const SparseAttention& attention, const KeyLists& keys, std::size_t n_k);

/// The output of `sparse_attention`, with the queries in chunks of `chunk` of which one is computed after the
/// other: the scores of one chunk are held at a time. Exact, whatever the size of the chunks. Throws
/// std::invalid_argument where shapes do not match, and for a chunk of 0.
Tensor<2> chunked_attention(const Tensor<2>& Q, const Tensor<2>& K, const Tensor<2>& V,
                               const KeyLists& keys, std::size_t chunk, Meter& meter);

}  // namespace attn
