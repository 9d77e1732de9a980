#pragma once

#include <cmath>

#include "attn/ops/mask.hpp"
#include "attn/ops/matmul.hpp"
#include "attn/ops/measure.hpp"
#include "attn/ops/slice.hpp"
#include "lessons/efficient.hpp"
#include "tests/unit/lessons/parts.hpp"
#include "tests/unit/numbers.hpp"
#include "tests/unit/random_tensor.hpp"

/// What the variants of attention start from, and the attention that they are measured against.

struct Matrices {
  attn::Tensor<2> Q, K, V;
};

inline Matrices random_matrices(std::size_t n, std::size_t d_k, std::size_t d_v) {
  return {random_tensor<2>({n, d_k}, 1), random_tensor<2>({n, d_k}, 2), random_tensor<2>({n, d_v}, 3)};
}

/// True at the listed keys, [query×key].
inline attn::Mask<2> mask_of(const attn::KeyLists& keys, std::size_t n_k) {
  attn::Mask<2> mask({keys.size(), n_k}, false);
  for (std::size_t i = 0; i < keys.size(); ++i)
    for (const auto j : keys[i]) mask(i, j) = true;
  return mask;
}

/// What features amount to: every weight φ(qᵢ)ᵀφ(kⱼ) / Σⱼ φ(qᵢ)ᵀφ(kⱼ) where the mask [query×key] is true, 0
/// elsewhere.
inline attn::Tensor<2> implied_weights(const attn::Tensor<2>& phi_Q, const attn::Tensor<2>& phi_K,
                                       const attn::Mask<2>& mask) {
  auto weights = attn::matmul(phi_Q, attn::transpose(phi_K));
  for (std::size_t i = 0; i < weights.shape(0); ++i) {
    double sum = 0.0;
    for (std::size_t j = 0; j < weights.shape(1); ++j) sum += mask(i, j) ? weights(i, j) : 0.0;
    for (std::size_t j = 0; j < weights.shape(1); ++j)
      weights(i, j) = mask(i, j) && sum != 0.0 ? weights(i, j) / sum : 0.0;
  }
  return weights;
}

template <std::size_t N>
Attention<N> masked_attention(const attn::Tensor<N>& Q, const attn::Tensor<N>& K, const attn::Tensor<N>& V,
                              const std::optional<attn::Mask<3>>& mask = std::nullopt) {
  return attend(Page("sdpa", {.sentence = {"a b"}}), Q, K, V, mask);
}

/// Weights and output of masked attention, as matrices.
struct MaskedAttention {
  attn::Tensor<2> weights, output;
};

inline MaskedAttention masked_attention(const Matrices& in, const attn::Mask<2>& mask) {
  const auto attention = masked_attention<3>(attn::as_batch(in.Q), attn::as_batch(in.K), attn::as_batch(in.V),
                                             attn::repeat_mask(mask, 1));
  return {attn::sample(attention.weights, 0), attn::sample(attention.output, 0)};
}

/// What the lesson tells of one variant on these matrices.
inline Listener told_of(const std::string& variant, const Matrices& in, lessons::Options options = {},
                        const attn::Watch& watch = {}) {
  std::string sentence;
  for (std::size_t i = 0; i < in.Q.shape(0); ++i) sentence += "token ";
  options.sentence = {sentence};
  options.variant = variant;
  const auto& usual = lesson_called("efficient").defaults;
  if (!options.block) options.block = usual.block;
  if (!options.window) options.window = usual.window;
  if (!options.rank) options.rank = usual.rank;
  options.heads = options.heads.value_or(1);
  options.kv_heads = options.kv_heads.value_or(1);
  options.d_k = in.Q.shape(1);
  options.d_v = in.V.shape(1);
  attn::GivenTensors given;
  for (const auto& [id, tensor] : {std::pair("Q", &in.Q), std::pair("K", &in.K), std::pair("V", &in.V)})
    given.emplace(id, attn::AnyTensor(attn::view_of(*tensor)));
  return told_by("efficient", options, given, watch);
}
