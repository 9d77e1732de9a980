#pragma once

#include "attn/tensor.hpp"

namespace attn {

/// Which numbers of a vector of length d make up pair i: 2i and 2i+1 (Su et al. 2021), or i and i + d/2
/// (GPT-NeoX and the Hugging Face port of LLaMA).
enum class Pairing { adjacent, halves };

/// Each pair (x, y) of token p turned by the angle φ = angles(p, pair): (x cos φ − y sin φ, x sin φ + y cos
/// φ) (Su et al. 2021, equation 34). x is [batch×n×d], angles [position×pair] with at least n rows. Throws
/// std::invalid_argument, with both shapes, where they do not match.
Tensor<3> rotate_pairs(const Tensor<3>& x, const Tensor<2>& angles, Pairing pairing);

}  // namespace attn
