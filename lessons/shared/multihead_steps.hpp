#pragma once

#include <optional>

#include "attn/layers/multihead_attention.hpp"
#include "lessons/workbench/workbench.hpp"

namespace lessons {

/// The inputs `W_Q`, `W_K`, `W_V`, `W_O`, drawn in that order.
attn::MultiHeadWeights draw_multihead_weights(Workbench& bench);

/// What show_multihead has shown. The attention is without dropout; its keys and values have as many heads as
/// the queries.
struct ShownMultiHead {
  Tensor<3> Q;
  Tensor<4> Q_heads, K_heads, V_heads;
  attn::Attention<4> attention;
  Tensor<3> output;
};

/// The note `parameters`: how many numbers these weights hold.
void show_multihead_parameters(Workbench& bench);

/// Shows multi-head attention step by step from `Q` to `output`, and `mean_weights`, the mean over the heads.
ShownMultiHead show_multihead(Workbench& bench, const Named& X_query, const Named& X_key,
                                 const attn::MultiHeadWeights& weights,
                                 const std::optional<Mask<3>>& mask);

/// The claims of scaled dot-product attention, and of several heads: merging undoes splitting, each head is
/// an attention of its own, one head is a single attention, shared keys and values are repeated ones.
void claim_multihead(Workbench& bench, const Tensor<3>& X_query, const Tensor<3>& X_key,
                     const attn::MultiHeadWeights& weights, const ShownMultiHead& shown,
                     const std::optional<Mask<3>>& mask);

/// Elements of the tensors that show_multihead shows, for `batch` samples of n_q queries and n_k keys.
double multihead_element_count(const Options& options, double batch, double n_q, double n_k);

}  // namespace lessons
