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

/// The largest |Σⱼ weights − 1| over the rows along the last axis, rows that are all zero (nothing to attend
/// to) left out.
template <std::size_t N>
double row_sum_deviation(const Tensor<N>& weights) requires Rank<N, 1, 4>;

/// The entropy −Σⱼ wⱼ ln wⱼ of one row of weights, worked out.
Worked worked_entropy(const std::vector<Worked>& weights);

}  // namespace attn
