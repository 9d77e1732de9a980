#pragma once

#include "attn/tensor.hpp"

namespace lessons {

/// The dot product [sample] of each query [sample×d_k] with its key [sample×d_k].
attn::Tensor<1> dot_products(const attn::Tensor<2>& queries, const attn::Tensor<2>& keys);

/// What softmax makes of scores [sample] that are cut into rows of `keys`, as if each row were one query's,
/// after a division by `divisor`: [query×key]. A rest that fills no row is left out.
attn::Tensor<2> weights_of(const attn::Tensor<1>& scores, std::size_t keys, double divisor);

/// What chance alone does to the mean of `samples` such scores: √(Var(s) / samples), and Var(s) = d_k.
double standard_error_of_mean(double d_k, double samples);

/// The same for their variance: √(Var(s²) / samples). For a given q the score is normal with variance |q|²,
/// so E[s⁴] = 3 E[|q|⁴] = 3 d_k² + 6 d_k, and Var(s²) = E[s⁴] − E[s²]² = 2 d_k² + 6 d_k.
double standard_error_of_variance(double d_k, double samples);

}  // namespace lessons
