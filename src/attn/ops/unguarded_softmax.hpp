#pragma once

#include "attn/tensor.hpp"

namespace attn {

/// softmax as it is first written down: exp(xⱼ − max x) / Σₖ exp(xₖ − max x) along the last axis, and no word
/// about a row in which every score is −∞. There −∞ − (−∞) is NaN, and so is the whole row. To show what
/// `softmax` guards against; elsewhere both give the same, bit for bit. Rank 3.
Tensor<3> unguarded_softmax(const Tensor<3>& scores);

}  // namespace attn
