#pragma once

#include <string>
#include <vector>

#include "attn/tensor.hpp"
#include "formula/gradient.hpp"

namespace lessons {

/// The gradient of a loss with respect to the tensor `of`, its elements in C order.
struct Gradient {
  std::string of;
  std::vector<double> elements;
};

/// Those of a backward pass, in its order.
using Gradients = std::vector<Gradient>;

/// The gradients d_X on a sheet of its tensors X.
Gradients gradients_on(const formula::Sheet& sheet);

/// The same, all steps computed again, with the tensor `instead` in the place of the step of that name.
Gradients gradients_again(formula::Sheet sheet, const std::string& step = "",
                          const formula::View& instead = {});

/// The largest difference between two backward passes of the same tensors. Throws std::invalid_argument where
/// they are not of the same ones.
double largest_difference(const Gradients& a, const Gradients& b);

/// The largest number in size of a backward pass.
double largest_number(const Gradients& gradients);

/// Half the distance from 1 to the next number of that floating-point type.
double unit_roundoff(attn::Dtype dtype);

/// The smallest number of that type that has all its digits.
double smallest_normal(attn::Dtype dtype);

}  // namespace lessons
