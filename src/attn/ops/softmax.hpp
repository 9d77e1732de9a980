#pragma once

#include <cstddef>

#include "attn/tensor.hpp"
#include "attn/worked.hpp"

namespace attn {

/// softmax(x)ⱼ = exp(xⱼ − max x) / Σₖ exp(xₖ − max x) along the last axis; ranks 1 to 4.
/// A row in which every score is −∞ (all keys masked) becomes a row of zeros.
template <std::size_t N>
Tensor<N> softmax(Tensor<N> scores) requires Rank<N, 1, 4>;

/// The same of `rows` rows of `length` scores that lie one after the other, in place.
void softmax_rows(double* scores, std::size_t rows, std::size_t length);

/// Layer normalisation along the last axis (Ba et al. 2016): (x − mean) / √(variance + 1e-5) · gain + bias,
/// with the biased variance. x is [batch×n×d], gain and bias are [d].
/// Throws std::invalid_argument, with both shapes, where they do not match.
Tensor<3> layer_norm(const Tensor<3>& x, const Tensor<1>& gain, const Tensor<1>& bias);

/// softmax(scores / divisor) along the last axis, whose rows have `length` scores, worked out as
/// exp(xⱼ) / Σₖ exp(xₖ); with x − max x in the place of x where some score is beyond ±30, as softmax computes
/// it. Scores of −∞ have no term.
WorkedOut worked_softmax(WorkedOut scores, std::size_t length, double divisor = 1.0);

/// Shares without exp, for work by hand: xⱼ / Σₖ xₖ of `count` scores that stand `stride` numbers apart.
/// Scores below 0 count as 0. Where that leaves nothing to divide by, those that are not −∞ (masked) get
/// equal shares, and where all are −∞ all shares are 0, as softmax has it.
void sum_shares(const double* scores, double* shares, std::size_t count, std::size_t stride);

/// The same along the last axis, whose rows have `length` scores, worked out.
WorkedOut worked_sum_shares(WorkedOut scores, std::size_t length);

}  // namespace attn
