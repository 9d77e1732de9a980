#pragma once

#include "attn/ops/cost_counter.hpp"
#include "attn/tensor.hpp"

namespace attn {

/// Feature maps φ for linear attention: all features are positive, so that every weight is.

/// φ(x) = elu(x) + 1, that is x + 1 where x > 0 and exp(x) elsewhere (Katharopoulos et al. 2020, equation 7).
/// [n×d_k] → [n×d_k].
Tensor<2> elu_plus_one(const Tensor<2>& x);

/// φ(x)ₘ = exp(ωₘᵀy − |y|²/2) / √M with y = x / d_k^¼, for M features. With ω drawn normal(0, 1) the
/// expected value of φ(q)ᵀφ(k) is exp(qᵀk / √d_k), the weight of softmax before it is normalised
/// (Choromanski et al. 2021, lemma 1). x is [n×d_k], omega [feature×d_k] → [n×feature]. Throws
/// std::invalid_argument, with both shapes, where they do not match.
Tensor<2> positive_random_features(const Tensor<2>& x, const Tensor<2>& omega, CostCounter& counter);

}  // namespace attn
