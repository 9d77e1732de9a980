#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "attn/tensor.hpp"

namespace attn {

/// Of the numbers that are x once they are rounded to the floating-point type `dtype`, the one with the
/// fewest digits: 0.1 for the float32 nearest to it.
double with_fewest_digits(double x, Dtype dtype);

/// The shortest text that reads back as the finite number x of that type: "0.1", "1e+05", "1.5e-07".
std::string shortest(double x, Dtype dtype = Dtype::float64);

/// The number that the whole word is, `-inf` and `nan` among them.
std::optional<double> number_in(std::string_view word);

}  // namespace attn
