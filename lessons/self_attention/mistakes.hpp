#pragma once

#include <string>
#include <utility>
#include <vector>

#include "lessons/self_attention.hpp"
#include "lessons/workbench/workbench.hpp"
#include "trace/mistake.hpp"

namespace lessons {

/// The classic mistakes of a projection X W + b: X [batch×token×d_model], W one of the three weights
/// [d_model×…], whose index in `all` (those of queries, keys and values) is `own`. `groups` is how many key
/// and value heads there are: a fused weight may have the queries, keys and values of each group together.
/// What is passed by reference, and what the maps refer to, must live as long as the mistakes.
attn::Mistakes mistakes_of_projection(const Tensor<3>& X, const std::vector<LinearMap>& all, std::size_t own,
                                      std::size_t groups);

/// X W without the bias of `map`, where it has one: of this one alone, by its `name` "Q", or of all.
attn::Mistakes mistakes_of_bias(const Tensor<3>& X, const std::string& name, const LinearMap& map);

/// Those of the keys, or of the values, which may come from other tokens than the queries: then they can be
/// taken from the wrong ones.
attn::Mistakes mistakes_of_keys_or_values(const Named& X_query, const Named& X_key,
                                          const std::vector<LinearMap>& all, std::size_t own,
                                          std::size_t groups = 1);

/// Those of the queries, which may hold the scale already, or its root if the keys do, too: `divisor` is what
/// scores are divided by.
attn::Mistakes mistakes_of_queries(const Tensor<3>& X, const std::vector<LinearMap>& all, double divisor,
                                   std::size_t groups = 1);
attn::Mistakes mistakes_of_keys(const Named& X_query, const Named& X_key, const std::vector<LinearMap>& all,
                                double divisor, std::size_t groups = 1);

/// A weight [in×out] as who takes it for [out×in] reads it: the numbers in the same order, then transposed.
Tensor<2> read_as_transposed(const Tensor<2>& W);

}  // namespace lessons
