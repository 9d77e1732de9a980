#pragma once

#include <optional>

#include "lessons/sdpa.hpp"

namespace lessons {

/// The weights of multi-head attention.
struct MultiHeadWeights {
  Tensor<2> W_Q;  ///< [d_model×head·d_k]
  Tensor<2> W_K;  ///< [d_model×kv_head·d_k]
  Tensor<2> W_V;  ///< [d_model×kv_head·d_v]
  Tensor<2> W_O;  ///< [head·d_v×d_model]
};

/// The inputs `W_Q`, `W_K`, `W_V`, `W_O`, drawn in that order.
MultiHeadWeights draw_multihead_weights(Workbench& bench);

/// How many heads there are.
struct Heads {
  std::size_t query;      ///< heads that ask
  std::size_t key_value;  ///< heads that answer, each read by query / key_value of them
};

/// What multi-head attention goes through. The keys and values of `attention` have as many heads as the
/// queries.
struct MultiHeadAttention {
  Tensor<3> Q;                 ///< [batch×query×head·d_k]
  Tensor<4> Q_heads;           ///< [batch×head×query×d_k]
  Tensor<4> K_heads, V_heads;  ///< [batch×kv_head×key×d_k], [batch×kv_head×key×d_v]
  Attention<4> attention;      ///< of the heads, side by side
  Tensor<3> output;            ///< [batch×query×d_model]
};

/// Multi-head attention (Vaswani et al. 2017, section 3.2.2) step by step from `Q` to `output`, and
/// `mean_weights`, the mean over the heads. X_query [batch×query×d_model], X_key [batch×key×d_model],
/// mask [batch×query×key], true = may be seen.
MultiHeadAttention multihead_attention(Workbench& bench, const Named& X_query, const Named& X_key,
                                       const MultiHeadWeights& weights, const Heads& heads,
                                       const std::optional<Mask<3>>& mask);

/// The same with the heads of the options.
MultiHeadAttention multihead_attention(Workbench& bench, const Named& X_query, const Named& X_key,
                                       const MultiHeadWeights& weights, const std::optional<Mask<3>>& mask);

/// The note `parameters`: how many numbers these weights hold.
void explain_parameters(Workbench& bench);

/// The claims of scaled dot-product attention, and of several heads: merging undoes splitting, each head is
/// an attention of its own, one head is a single attention, shared keys and values are repeated ones.
void claim_multihead(Workbench& bench, const Named& X_query, const Named& X_key,
                     const MultiHeadWeights& weights, const MultiHeadAttention& shown,
                     const std::optional<Mask<3>>& mask);

/// Elements of the tensors that multihead_attention shows, for `batch` samples of n_q queries and n_k keys.
double multihead_element_count(const Options& options, double batch, double n_q, double n_k);

}  // namespace lessons
