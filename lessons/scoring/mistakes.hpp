#pragma once

#include "lessons/self_attention.hpp"
#include "lessons/workbench/workbench.hpp"
#include "trace/mistake.hpp"

namespace lessons {

/// The classic mistakes in the steps of the lesson scoring. What is passed by reference must live as long as
/// the mistakes. Queries are [batch×query×d_model], keys [batch×key×d_model],
/// scores [batch×query×key].

/// Of `dot/scores`.
attn::Mistakes mistakes_of_dot(const Workbench& bench, const Tensor<3>& queries, const Tensor<3>& keys);

/// Of `scaled_dot/scores`: the same, and what the scores are divided by when it is not √d_model.
attn::Mistakes mistakes_of_scaled_dot(const Workbench& bench, const Tensor<3>& queries,
                                      const Tensor<3>& keys);

/// Of `general/scores`.
attn::Mistakes mistakes_of_general(const Tensor<3>& queries, const Tensor<2>& W_a, const Tensor<3>& keys);

/// Of what the hidden layer reads of the queries, or of the keys. `other` is the map of the other.
attn::Mistakes mistakes_of_hidden_part(const Tensor<3>& x, LinearMap map, LinearMap other);

/// Of hidden · v_a: hidden [batch×query×key×d_a], v_a [d_a].
attn::Mistakes mistakes_of_pair_scores(const Tensor<4>& hidden, const Tensor<1>& v_a);

}  // namespace lessons
