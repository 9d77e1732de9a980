#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "attn/ops/positional_rotary.hpp"
#include "lessons/workbench/workbench.hpp"
#include "trace/mistake.hpp"

namespace lessons {

/// The classic mistakes in the steps of the lesson positional, and other right ways to compute them. What is
/// passed by reference must live as long as the mistakes.

/// Of the frequencies [pair] of vectors of length d.
attn::Mistakes mistakes_of_frequencies(std::size_t d);

/// Of the angles [position×pair] of n positions in the sinusoidal encoding.
attn::Mistakes mistakes_of_angles(std::size_t n, const Tensor<1>& frequencies);

/// Of the sinusoidal encoding [position×d_model], made of angles [position×pair].
attn::Mistakes mistakes_of_encoding(const Tensor<2>& angles);

/// Of the sum of the tokens X [batch×token×d_model] and the table [position×d_model].
attn::Mistakes mistakes_of_encoded(const Workbench& bench, const Tensor<3>& X, const Tensor<2>& table);

/// The same with the table of the sinusoidal encoding.
attn::Mistakes mistakes_of_sinusoidal_sum(const Workbench& bench, const Tensor<3>& X, const Tensor<2>& table);

/// Of x yᵀ / √d: x [batch×query×d], y [batch×key×d].
attn::Mistakes mistakes_of_scaled_product(const Tensor<3>& x, const Tensor<3>& y);

/// Of what follows from the distance j − i of n tokens, [query×key]: `of_distance` says what.
attn::Mistakes mistakes_of_distances(std::size_t n, std::function<std::int64_t(std::int64_t)> of_distance);

/// Of T5's bias [head×query×key].
attn::Mistakes mistakes_of_t5_bias(const Tensor<3>& bias);

/// Of (X Xᵀ + from_distance) / √d: X [batch×token×d], from_distance [batch×query×key].
attn::Mistakes mistakes_of_relative_scores(const Tensor<3>& X, const Tensor<3>& from_distance);

/// Of scores + bias: scores [batch×query×key], which were divided by √d, and bias [head×query×key].
attn::Mistakes mistakes_of_bias(const Tensor<3>& scores, const Tensor<3>& bias, std::size_t d);

/// Of ALiBi's slopes [head], and of its bias [head×query×key] for n tokens.
attn::Mistakes mistakes_of_slopes(std::size_t heads);
attn::Mistakes mistakes_of_alibi_bias(const Tensor<1>& slopes, std::size_t n);

/// Of RoPE's angles [position×pair] for n vectors of length d.
attn::Mistakes mistakes_of_rope_angles(std::size_t n, std::size_t d);

/// Of the turned queries, or keys: X [batch×token×d], angles [position×pair].
attn::Mistakes mistakes_of_rotated_queries(const Workbench& bench, const Tensor<3>& X,
                                           const Tensor<2>& angles, attn::Pairing pairing);
attn::Mistakes mistakes_of_rotated_keys(const Workbench& bench, const Tensor<3>& X, const Tensor<2>& angles,
                                        attn::Pairing pairing);

/// Of the output of RoPE's weights [batch×query×key] and the values X, which RoPE does not turn.
attn::Mistakes mistakes_of_rope_output(const Workbench& bench, const Tensor<3>& X, const Tensor<3>& weights,
                                       attn::Pairing pairing);

/// Of the weights of scores [batch…×query×key] which were divided by √d: `seen` is what the mask leaves of
/// them. Ranks 3 and 4.
template <std::size_t N>
attn::Mistakes mistakes_of_shares(const Workbench& bench, const Tensor<N>& scores, const Tensor<N>& seen,
                                  const std::optional<Mask<3>>& mask, std::size_t d);

}  // namespace lessons
