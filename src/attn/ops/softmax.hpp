#pragma once

#include "attn/tensor.hpp"
#include "attn/worked.hpp"

namespace attn {

/// softmax(x)ⱼ = exp(xⱼ − max x) / Σₖ exp(xₖ − max x) along the last axis; ranks 1 to 4.
/// A row in which every score is −∞ (all keys masked) becomes a row of zeros.
template <std::size_t N>
Tensor<N> softmax(Tensor<N> scores) requires Rank<N, 1, 4>;

/// The same of `rows` rows of `length` scores that lie one after the other, in place.
void softmax_rows(double* scores, std::size_t rows, std::size_t length);

/// ln Σₖ exp(xₖ) along the last axis, as max x + ln Σₖ exp(xₖ − max x); ranks 3 and 4. −∞ where every score
/// is.
template <std::size_t N>
Tensor<N - 1> log_sum_exp(const Tensor<N>& scores) requires Rank<N, 3, 4>;

/// The same weights as softmax(scores), from the scores and the log-sum-exp of each row: exp(xⱼ −
/// log-sum-exp). FlashAttention (Dao et al. 2022) keeps that number in place of the row. Ranks 3 and 4.
template <std::size_t N>
Tensor<N> softmax_from(Tensor<N> scores, const Tensor<N - 1>& log_sum_exp) requires Rank<N, 3, 4>;

/// The gradient of a loss with respect to the scores, wⱼ (dⱼ − Σₖ wₖ dₖ) along the last axis, from the
/// weights w = softmax(scores) and the gradient d with respect to them: softmax's Jacobian diag(w) − w wᵀ
/// times d, without ever forming it. A score without weight, as a masked one, gets 0. Throws
/// std::invalid_argument, with both shapes, where they differ.
template <std::size_t N>
Tensor<N> softmax_backward(const Tensor<N>& weights, const Tensor<N>& d_weights) requires Rank<N, 1, 4>;

/// softmax(scores / divisor), worked out as exp(xⱼ) / Σₖ exp(xₖ); with x − max x in the place of x where some
/// score is beyond ±30, as softmax computes it. Scores of −∞ have no term. Ranks 1 to 4.
template <std::size_t N>
WorkedOut worked_softmax(Known<N> scores, double divisor = 1.0) requires Rank<N, 1, 4>;

/// The same for rows of `length` scores, whatever each of them is.
WorkedOut worked_softmax(WorkedOut scores, std::size_t length, double divisor = 1.0);

/// ln Σₖ exp(xₖ), worked out as ln of that sum. Ranks 3 and 4.
template <std::size_t N>
WorkedOut worked_log_sum_exp(Known<N> scores) requires Rank<N, 3, 4>;

/// wⱼ (dⱼ − Σₖ wₖ dₖ), worked out. Ranks 3 and 4.
template <std::size_t N>
WorkedOut worked_softmax_backward(Known<N> weights, Known<N> d_weights) requires Rank<N, 3, 4>;

}  // namespace attn
