#pragma once

#include <initializer_list>

#include "attn/tensor.hpp"
#include "attn/worked.hpp"

namespace attn {

/// The largest of several measurements, or NaN where one of them is NaN (`maximum` of IEEE 754-2019), so that
/// no claim holds for it. There is at least one.
double maximum(std::initializer_list<double> measurements);

/// The place of the largest of `count` numbers, the first of several. `count` is at least 1.
std::size_t argmax(const double* numbers, std::size_t count);

/// Numbers read off a tensor, in float64. Instantiated for ranks 1 to 4.

/// The largest |x|; 0 for an empty tensor.
template <std::size_t N>
double max_abs(const Tensor<N>& x) requires Rank<N, 1, 4>;

/// The largest |x − y| for tensors of one shape; equal infinities differ by 0, a NaN by NaN.
/// Throws std::invalid_argument where the shapes differ.
template <std::size_t N>
double max_abs_difference(const Tensor<N>& x, const Tensor<N>& y) requires Rank<N, 1, 4>;

/// Σ x ∘ y for tensors of one shape, in C order. Throws std::invalid_argument where the shapes differ.
template <std::size_t N>
double sum_of_products(const Tensor<N>& x, const Tensor<N>& y) requires Rank<N, 1, 4>;

/// The largest |Σⱼ weights − 1| over the rows along the last axis, rows that are all zero (nothing to attend
/// to) left out.
template <std::size_t N>
double row_sum_deviation(const Tensor<N>& weights) requires Rank<N, 1, 4>;

/// The same under a mask, both [batch×query×key]: over the rows of the queries that may see a key, whatever
/// their weights are. Throws std::invalid_argument where the shapes differ.
double row_sum_deviation(const Tensor<3>& weights, const Mask<3>& mask);

/// The largest |weight| where the mask is false, both [batch×query×key]; 0 where it is true everywhere.
/// Throws std::invalid_argument where the shapes differ.
double largest_hidden_weight(const Tensor<3>& weights, const Mask<3>& mask);

/// The largest |Σⱼ x| over the rows along the last axis.
template <std::size_t N>
double max_abs_row_sum(const Tensor<N>& x) requires Rank<N, 1, 4>;

/// The mean over rows of the entropy −Σⱼ wⱼ ln wⱼ, in nats, with 0 ln 0 = 0.
template <std::size_t N>
double mean_entropy(const Tensor<N>& weights) requires Rank<N, 1, 4>;

/// The mean over rows of the largest weight.
template <std::size_t N>
double mean_max_weight(const Tensor<N>& weights) requires Rank<N, 1, 4>;

/// The mean over rows of the Frobenius norm of softmax's Jacobian diag(w) − w wᵀ: how much of a gradient
/// passes through.
template <std::size_t N>
double mean_jacobian_norm(const Tensor<N>& weights) requires Rank<N, 1, 4>;

/// The entropy −Σⱼ wⱼ ln wⱼ and the norm of softmax's Jacobian of one row of weights, worked out.
Worked worked_entropy(const std::vector<Worked>& weights);
Worked worked_jacobian_norm(const std::vector<Worked>& weights);

}  // namespace attn
