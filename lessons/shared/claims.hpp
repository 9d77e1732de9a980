#pragma once

#include <optional>

#include "attn/layers/attention.hpp"
#include "lessons/workbench/workbench.hpp"

namespace lessons {

/// How far two ways of computing numbers up to `magnitude` may differ by rounding alone: 1e-12 in float64,
/// 1e-5 in float32, times the power of ten next above the magnitude.
attn::Limit rounding(const Workbench& bench, double magnitude = 1.0);

/// At most the power of ten next above a bound: for an error that is bounded only roughly.
attn::Limit roughly_at_most(double bound);

/// What rounding does to the weights softmax(Q Kᵀ / divisor) is relative to: the largest Σ |q| |k| / divisor,
/// since terms of a score may cancel, or 1. Ranks 2 to 4.
template <std::size_t N>
double magnitude_of_scores(const Tensor<N>& Q, const Tensor<N>& K, double divisor);

/// The claims of scaled dot-product attention: rows of weights sum to 1, a shift of all scores of a row
/// changes nothing, and the fastest kernel that fits gives the same output. `attention` is without dropout; K
/// and V have as many heads as Q.
template <std::size_t N>
void claim_attention(Workbench& bench, const attn::Attention<N>& attention, const Tensor<N>& Q,
                     const Tensor<N>& K, const Tensor<N>& V,
                     const std::optional<Mask<3>>& mask);

}  // namespace lessons
