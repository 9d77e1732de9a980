#pragma once

#include <cstddef>

#include "attn/tensor.hpp"
#include "attn/worked.hpp"

namespace attn {

/// The frequencies ωᵢ = 10000^(−2i/d), i = 0, …, d/2 − 1, that sinusoidal encodings (Vaswani et al. 2017,
/// section 3.5) and RoPE (Su et al. 2021, section 3.2.2) share: [pair]. Throws Error for odd d.
Tensor<1> position_frequencies(std::size_t d);

/// The angles p · ωᵢ of the positions p = 0, …, n − 1: [position×pair].
Tensor<2> position_angles(std::size_t n, const Tensor<1>& frequencies);

/// sin(angle) and cos(angle) of each pair side by side: [position×pair] → [position×d].
Tensor<2> sines_and_cosines(const Tensor<2>& angles);

/// The sinusoidal encoding PE of n positions, PE(p, 2i) = sin(p ωᵢ) and PE(p, 2i+1) = cos(p ωᵢ):
/// [position×d]. Throws Error for odd d.
Tensor<2> sinusoidal_encoding(std::size_t n, std::size_t d);

/// x [batch×n×d] with row p of `table` [position×d] added to token p of each sample. The table may have more
/// rows than x has tokens. Throws std::invalid_argument, with both shapes, where a row is missing or has
/// another length.
Tensor<3> add_positions(const Tensor<3>& x, const Tensor<2>& table);

/// Which numbers of a vector of length d make up pair i: 2i and 2i+1 (Su et al. 2021), or i and i + d/2
/// (GPT-NeoX and the Hugging Face port of LLaMA).
enum class Pairing { adjacent, halves };

/// Each pair (x, y) of token p turned by the angle φ = angles(p, pair): (x cos φ − y sin φ, x sin φ + y cos
/// φ) (Su et al. 2021, equation 34). x is [batch×n×d], angles [position×pair] with at least n rows. Throws
/// std::invalid_argument, with both shapes, where they do not match.
Tensor<3> rotate_pairs(const Tensor<3>& x, const Tensor<2>& angles, Pairing pairing);

}  // namespace attn
