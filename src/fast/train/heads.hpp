#pragma once

#include "fast/train/operations.hpp"

/// Attention with several heads for transformers. Rows lie by sample: row = sample · positions + position.
namespace attn::train {

struct HeadSizes {
  std::size_t batch;
  std::size_t queries;  ///< positions of a sample, with padding
  std::size_t keys;
  std::size_t heads;
  bool is_causal = false;
};

template <class T>
struct Attended {
  Variable<T> output;   ///< [batch·queries × heads·d_v]
  Variable<T> weights;  ///< [batch·heads·queries × keys]
};

/// softmax(Q Kᵀ / √d_k) V for each head (Vaswani et al. 2017, section 3.2). Q is [batch·queries × heads·d_k],
/// K [batch·keys × heads·d_k], V [batch·keys × heads·d_v]. Keys beyond a sample's length are hidden.
template <class T>
Attended<T> attend(Tape<T>& tape, const Variable<T>& Q, const Variable<T>& K, const Variable<T>& V,
                   const HeadSizes& sizes, const Lengths& key_lengths);

/// Rotary position embedding (Su et al. 2021): turns the pairs (2i, 2i + 1) of each head by
/// position · 10000^(−2i/d_k).
template <class T>
Variable<T> rotate(Tape<T>& tape, const Variable<T>& x, std::size_t positions, std::size_t heads);

/// scale · Σ −w ln w over all weights of queries within their sample's length, [1×1].
template <class T>
Variable<T> entropy(Tape<T>& tape, const Variable<T>& weights, const HeadSizes& sizes,
                    const Lengths& query_lengths, T scale);

/// Where a query is to look: `share` of its weights at `key`. `row` is the query's row of Q.
template <class T>
struct Look {
  std::size_t row, key;
  T share;
};

/// scale · Σ −share ln w[row, key] of one head, [1×1]: the cross-entropy of its weights against where it is
/// to look (Strubell et al. 2018, section 2.3, with one key a query).
template <class T>
Variable<T> loss_of_looks(Tape<T>& tape, const Variable<T>& weights, const HeadSizes& sizes, std::size_t head,
                          const std::vector<Look<T>>& looks, T scale);

}  // namespace attn::train
