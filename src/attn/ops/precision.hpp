#pragma once

#include <cstdint>
#include <string_view>

#include "attn/tensor.hpp"

namespace attn {

/// Floating-point formats of IEEE 754, from the widest to the narrowest.
enum class Precision { float64, float32, float16 };

/// "float64", "float32" or "float16": the names that NumPy uses.
std::string_view name_of(Precision precision);

/// The format of a floating-point dtype.
Precision precision_of(Dtype dtype);

/// The number of that format nearest to x, ties to even; infinity where x is too large for it.
double round_to(Precision precision, double x);
double round_to(Dtype dtype, double x);

/// Each element rounded to that format, which must not be wider than T.
template <std::size_t N>
Tensor<N> round_to(Precision precision, const Tensor<N>& x);

/// The largest finite number of the format.
double largest_number(Precision precision);

/// For a larger x, exp(x) rounds to infinity: about 709.78 in float64, 88.72 in float32, 11.09 in float16.
double exp_overflows_above(Precision precision);

/// For a smaller x, exp(x) rounds to 0: about −745.13 in float64, −103.97 in float32, −17.33 in float16.
double exp_vanishes_below(Precision precision);

/// How many elements are infinite or NaN. Ranks 1 and 2.
template <std::size_t N>
std::int64_t count_non_finite(const Tensor<N>& x);

/// How many elements of `exponentials` are finite although the score beside them is above the format's
/// threshold, or infinite although it is not. Throws std::invalid_argument where the shapes differ.
std::int64_t count_unforeseen(const Tensor<2>& scores, const Tensor<2>& exponentials,
                              Precision precision);

}  // namespace attn
