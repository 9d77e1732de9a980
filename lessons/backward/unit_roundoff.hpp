#pragma once

#include "attn/tensor.hpp"

namespace lessons {

/// Half the distance from 1 to the next number of that floating-point type.
double unit_roundoff(attn::Dtype dtype);

/// The smallest number of that type that has all its digits.
double smallest_normal(attn::Dtype dtype);

}  // namespace lessons
