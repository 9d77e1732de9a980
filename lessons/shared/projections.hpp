#pragma once

#include <string>

#include "attn/layers/single_head_attention.hpp"
#include "lessons/workbench/workbench.hpp"

namespace lessons {

/// The inputs `W_Q`, `W_K`, `W_V` of an attention with one head, drawn in that order.
template <class T>
attn::SingleHeadWeights<T> draw_projection_weights(Workbench<T>& bench);

/// What tokens become before they attend.
template <class T>
struct Projections {
  Tensor<T, 3> Q;  ///< [batch×query×d_k]
  Tensor<T, 3> K;  ///< [batch×key×d_k]
  Tensor<T, 3> V;  ///< [batch×key×d_v]
};

struct ProjectionTitles {
  std::string Q = "What each token asks for";
  std::string K = "What each token can be found by";
  std::string V = "What each token has to give";
};

/// Shows `Q` = X_query W_Q, `K` = X_key W_K and `V` = X_key W_V.
template <class T>
Projections<T> show_projections(Workbench<T>& bench, const Named<T>& X_query, const Named<T>& X_key,
                                const attn::SingleHeadWeights<T>& weights,
                                const ProjectionTitles& titles = {});

}  // namespace lessons
