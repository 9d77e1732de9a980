#pragma once

#include <string>

#include "attn/layers/single_head_attention.hpp"
#include "lessons/workbench/workbench.hpp"

namespace lessons {

/// The inputs `W_Q`, `W_K`, `W_V` of an attention with one head, drawn in that order.
attn::SingleHeadWeights draw_projection_weights(Workbench& bench);

/// What tokens become before they attend.
struct Projections {
  Tensor<3> Q;  ///< [batch×query×d_k]
  Tensor<3> K;  ///< [batch×key×d_k]
  Tensor<3> V;  ///< [batch×key×d_v]
};

struct ProjectionTitles {
  std::string Q = "What each token asks for";
  std::string K = "What each token can be found by";
  std::string V = "What each token has to give";
};

/// Shows `Q` = X_query W_Q, `K` = X_key W_K and `V` = X_key W_V.
Projections show_projections(Workbench& bench, const Named& X_query, const Named& X_key,
                                const attn::SingleHeadWeights& weights,
                                const ProjectionTitles& titles = {});

}  // namespace lessons
