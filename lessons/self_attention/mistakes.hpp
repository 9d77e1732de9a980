#pragma once

#include <string>
#include <utility>
#include <vector>

#include "lessons/workbench/workbench.hpp"
#include "trace/mistake.hpp"

namespace lessons {

/// The classic mistakes of a projection X W: X [batch×token×d_model], `W` one of the three weights
/// [d_model×…], whose index in `all` (W_Q, W_K, W_V) is `own`. What is passed by reference must live as long
/// as the mistakes.
attn::Mistakes mistakes_of_projection(const Tensor<3>& X, const std::vector<const Tensor<2>*>& all,
                                      std::size_t own);

/// Those of the keys, or of the values, which may come from other tokens than the queries: then they can be
/// taken from the wrong ones.
attn::Mistakes mistakes_of_keys_or_values(const Named& X_query, const Named& X_key,
                                          const std::vector<const Tensor<2>*>& all, std::size_t own);

/// Those of the queries, which may hold the scale already: `divisor` is what scores are divided by.
attn::Mistakes mistakes_of_queries(const Tensor<3>& X, const std::vector<const Tensor<2>*>& all,
                                   double divisor);

/// A weight [in×out] as who takes it for [out×in] reads it: the numbers in the same order, then transposed.
Tensor<2> read_as_transposed(const Tensor<2>& W);

}  // namespace lessons
