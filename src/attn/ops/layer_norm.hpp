#pragma once

#include "attn/tensor.hpp"

namespace attn {

/// Layer normalisation along the last axis (Ba et al. 2016): (x − mean) / √(variance + 1e-5) · gain + bias,
/// with the biased variance. x is [batch×n×d], gain and bias are [d].
/// Throws std::invalid_argument, with both shapes, where they do not match.
Tensor<3> layer_norm(const Tensor<3>& x, const Tensor<1>& gain, const Tensor<1>& bias);

}  // namespace attn
