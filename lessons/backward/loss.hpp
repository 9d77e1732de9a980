#pragma once

#include "lessons/workbench/workbench.hpp"

namespace lessons {

/// The input `d_output` [batch×query×d_model, or d_v], the gradient that a backward pass starts from.
Tensor<3> draw_d_output(Workbench& bench);

/// The step `L` = Σ output · d_output, a loss that has this gradient.
void show_loss(Workbench& bench, const Tensor<3>& output, const Tensor<3>& d_output);

/// Σ |output| |d_output|, but with the largest number of the output: what rounding in L is relative to.
double magnitude_of_loss(const Tensor<3>& output, const Tensor<3>& d_output);

}  // namespace lessons
