#pragma once

#include "attn/tensor.hpp"
#include "trace/trace.hpp"

namespace lessons {

/// How far two ways of computing numbers up to `magnitude` may differ by rounding alone: 1e-12 in float64,
/// 1e-5 in float32, times the power of ten next above the magnitude.
attn::Limit rounding(const attn::Trace& trace, double magnitude = 1.0);

/// At most the power of ten next above a bound: for an error that is bounded only roughly.
attn::Limit roughly_at_most(double bound);

/// What rounding does to the weights softmax(Q Kᵀ / divisor) is relative to: the largest Σ |q| |k| / divisor,
/// since terms of a score may cancel, or 1. Ranks 2 to 4.
template <std::size_t N>
double magnitude_of_scores(const attn::Tensor<N>& Q, const attn::Tensor<N>& K, double divisor);

}  // namespace lessons
