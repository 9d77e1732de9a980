#pragma once

#include <optional>

#include "attn/layers/multihead_attention.hpp"
#include "lessons/workbench/workbench.hpp"

namespace lessons {

/// The inputs `W_Q`, `W_K`, `W_V`, `W_O`, drawn in that order.
template <class T>
attn::MultiHeadWeights<T> draw_multihead_weights(Workbench<T>& bench);

/// What show_multihead has shown. The attention is without dropout; its keys and values have as many heads as
/// the queries.
template <class T>
struct ShownMultiHead {
  Tensor<T, 3> Q;
  Tensor<T, 4> Q_heads, K_heads, V_heads;
  attn::Attention<T, 4> attention;
  Tensor<T, 3> output;
};

/// The note `parameters`: how many numbers these weights hold.
template <class T>
void show_multihead_parameters(Workbench<T>& bench);

/// Shows multi-head attention step by step from `Q` to `output`, and `mean_weights`, the mean over the heads.
template <class T>
ShownMultiHead<T> show_multihead(Workbench<T>& bench, const Named<T>& X_query, const Named<T>& X_key,
                                 const attn::MultiHeadWeights<T>& weights,
                                 const std::optional<Tensor<bool, 3>>& mask);

/// The claims of scaled dot-product attention, and of several heads: merging undoes splitting, each head is
/// an attention of its own, one head is a single attention, shared keys and values are repeated ones.
template <class T>
void claim_multihead(Workbench<T>& bench, const Tensor<T, 3>& X_query, const Tensor<T, 3>& X_key,
                     const attn::MultiHeadWeights<T>& weights, const ShownMultiHead<T>& shown,
                     const std::optional<Tensor<bool, 3>>& mask);

/// Elements of the tensors that show_multihead shows, for `batch` samples of n_q queries and n_k keys.
double multihead_element_count(const Options& options, double batch, double n_q, double n_k);

}  // namespace lessons
