#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "lessons/sdpa.hpp"
#include "lessons/workbench/model.hpp"

namespace lessons {

/// A weight matrix [d_in×d_out], and the bias [d_out] that is added to each row where there is one.
struct LinearMap {
  const Tensor<2>& W;
  const std::optional<Tensor<1>>& b;

  /// X W, and + b: [batch×n×d_in] → [batch×n×d_out].
  Tensor<3> operator()(const Tensor<3>& X) const;
};

/// The weights of an attention with one head. The biases are there where they are given.
struct ProjectionWeights {
  Tensor<2> W_Q;  ///< [d_model×d_k]
  Tensor<2> W_K;  ///< [d_model×d_k]
  Tensor<2> W_V;  ///< [d_model×d_v]
  std::optional<Tensor<1>> b_Q{}, b_K{}, b_V{};

  LinearMap Q() const { return {W_Q, b_Q}; }
  LinearMap K() const { return {W_K, b_K}; }
  LinearMap V() const { return {W_V, b_V}; }
};

/// What tokens become before they attend.
struct Projections {
  Tensor<3> Q;  ///< [batch×query×d_k]
  Tensor<3> K;  ///< [batch×key×d_k]
  Tensor<3> V;  ///< [batch×key×d_v]
};

/// The steps `Q` = X_query W_Q, `K` = X_key W_K and `V` = X_key W_V, each with its bias.
Projections project(Workbench& bench, const Named& X_query, const Named& X_key,
                    const ProjectionWeights& weights);

/// `project` and `scaled_dot_product_attention`: X_query [batch×query×d_model] attends to X_key
/// [batch×key×d_model] with one head.
Attention<3> single_head_attention(Workbench& bench, const Named& X_query, const Named& X_key,
                                   const ProjectionWeights& weights, const std::optional<Mask<3>>& mask);

/// The lesson that is the document self-attention.md.
const Lesson& self_attention_lesson();

}  // namespace lessons
