#pragma once

#include "lessons/efficient.hpp"

namespace lessons {

/// The two layers that attention is compared with in "Attention Is All You Need" (Vaswani et al. 2017,
/// table 1), each as plain as it can be.

/// A recurrent layer (Elman 1990): h_t = tanh(x_t W_x + h_{t−1} W_h), h_0 = 0. X [n×d_in], W_x [d_in×d],
/// W_h [d×d] → the states h_1, …, h_n [n×d].
Tensor<2> recurrence(const Tensor<2>& X, const Tensor<2>& W_x, const Tensor<2>& W_h, CostCounter& counter);

/// A convolution along the tokens: y_i = Σ_o x_{i+o} W_o, where o goes from −(width − 1)/2 to (width − 1)/2
/// and there is nothing beyond the ends. X [n×d_in], W [width×d_in×d], width odd → [n×d].
Tensor<2> convolution(const Tensor<2>& X, const Tensor<3>& W, CostCounter& counter);

}  // namespace lessons
