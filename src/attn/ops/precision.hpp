#pragma once

#include "attn/tensor.hpp"

namespace attn {

/// Each element rounded to that format.
template <std::size_t N>
Tensor<N> round_to(Dtype dtype, const Tensor<N>& x) requires Rank<N, 1, 2>;

/// The largest finite number of the format.
double largest_number(Dtype dtype);

/// How far a number as large as x may be from the number of the format that it is rounded to.
double largest_rounding_error(Dtype dtype, double x);

/// For a larger x, exp(x) rounds to infinity: about 709.78 in float64, 88.72 in float32, 11.09 in float16.
double exp_overflows_above(Dtype dtype);

/// For a smaller x, exp(x) rounds to 0: about −745.13 in float64, −103.97 in float32, −17.33 in float16.
double exp_vanishes_below(Dtype dtype);

}  // namespace attn
