#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lessons/sdpa.hpp"
#include "lessons/workbench/model.hpp"

namespace lessons {

/// The weights of an attention with one head.
struct ProjectionWeights {
  Tensor<2> W_Q;  ///< [d_model×d_k]
  Tensor<2> W_K;  ///< [d_model×d_k]
  Tensor<2> W_V;  ///< [d_model×d_v]
};

/// The inputs `W_Q`, `W_K`, `W_V`, drawn in that order.
ProjectionWeights draw_projection_weights(Workbench& bench);

/// Their declarations.
std::vector<Input> projection_input_list();

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

/// The steps `Q` = X_query W_Q, `K` = X_key W_K and `V` = X_key W_V.
Projections project(Workbench& bench, const Named& X_query, const Named& X_key,
                    const ProjectionWeights& weights, const ProjectionTitles& titles = {});

/// The projections in NumPy: one line.
std::string projection_code(const std::string& X_query, const std::string& X_key);

/// `project` and `scaled_dot_product_attention`: X_query [batch×query×d_model] attends to X_key
/// [batch×key×d_model] with one head.
Attention<3> single_head_attention(Workbench& bench, const Named& X_query, const Named& X_key,
                                   const ProjectionWeights& weights, const std::optional<Mask<3>>& mask);

/// X, and W_Q, W_K and W_V of the first head, from the model gloss.
void give_gloss(ModelInputs& inputs);

}  // namespace lessons
