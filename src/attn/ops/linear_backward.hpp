#pragma once

#include <utility>
#include <vector>

#include "attn/tensor.hpp"
#include "attn/worked.hpp"

namespace attn {

/// Back through y = x W (+ b), where one W serves every row of every sample.

/// d_W = Σ xᵀ d_y over the samples: [batch×n×d_in], [batch×n×d_out] → [d_in×d_out]. Throws
/// std::invalid_argument, with both shapes, where the samples or their rows differ.
Tensor<2> linear_backward_weight(const Tensor<3>& x, const Tensor<3>& d_y);

/// d_b = Σ d_y over all rows of all samples, for y = x W + b: [batch×n×d_out] → [d_out].
Tensor<1> linear_backward_bias(const Tensor<3>& d_y);

/// d_x = d_y Wᵀ: [batch×n×d_out], [d_in×d_out] → [batch×n×d_in]. Throws std::invalid_argument, with both
/// shapes, where they do not match.
Tensor<3> linear_backward_input(const Tensor<3>& d_y, const Tensor<2>& weight);

/// Σ d_y of a column, worked out: a term for each row of each sample.
WorkedOut worked_linear_backward_bias(Known<3> d_y);

/// (Σ xᵀ d_y)ᵢⱼ, worked out: a term for each row of each sample.
WorkedOut worked_linear_backward_weight(Known<3> x, Known<3> d_y);

/// (Σ d_y Wᵀ)ᵢⱼ over the products that one x went into, worked out.
WorkedOut worked_linear_backward_input(std::vector<std::pair<Known<3>, Known<2>>> products);

}  // namespace attn
