#pragma once

#include <cmath>
#include <string>
#include <utility>

#include "lessons/efficient.hpp"
#include "trace/mistake.hpp"

namespace lessons {

/// The classic mistakes in the steps of the variants of attention, and other right ways to compute them. What
/// is passed by reference must live as long as the mistakes.

/// Of scores that are divided by √d_k: `with_factor` computes the step from scores that are that many times
/// larger.
template <class WithFactor>
attn::Mistakes mistakes_of_scale(std::size_t d_k, WithFactor with_factor) {
  const double root = std::sqrt(static_cast<double>(d_k));
  return {{"no-scale", [=] { return with_factor(root); }},
          {"scale-d-k", [=] { return with_factor(1.0 / root); }},
          {"scale-twice", [=] { return with_factor(1.0 / root); }},
          {"scale-multiplied", [=] { return with_factor(root * root); }}};
}

/// Of the weights of the listed pairs [query×key].
attn::Mistakes mistakes_of_pair_weights(const Tensor<2>& Q, const Tensor<2>& K, const KeyLists& keys,
                                        const OtherKeys& other_keys);

/// Of the mask of a choice of pairs among n keys.
attn::Mistakes mistakes_of_pairs(const OtherKeys& other_keys, std::size_t n);

/// Of φ for linear attention: elu(x) + 1.
attn::Mistakes mistakes_of_linear_features(const Tensor<2>& x);

/// Of φ for Performer; `phi` are the right features.
attn::Mistakes mistakes_of_random_features(const Tensor<2>& x, const Tensor<2>& omega, const Tensor<2>& phi);

/// Of the weights that features amount to, under a mask [query×key].
attn::Mistakes mistakes_of_implied_weights(const Tensor<2>& phi_Q, const Tensor<2>& phi_K,
                                           const attn::Mask<2>& mask);

/// Of what queries read out of sums S [feature×d_v] and z [feature], all of them or those up to their own
/// key.
attn::Mistakes mistakes_of_read(const Tensor<2>& phi_Q, const Tensor<2>& S, const attn::Tensor<1>& z);
attn::Mistakes mistakes_of_causal_read(const Tensor<2>& phi_Q, const Tensor<2>& phi_K, const Tensor<2>& V);

/// Of the output [query×d_v] of `chunk` queries at a time.
attn::Mistakes mistakes_of_chunks(const Tensor<2>& output, std::size_t chunk);

/// Of what the sums so far are multiplied by, c [block×query].
attn::Mistakes mistakes_of_rescaling(const Tensor<2>& rescaling);

/// Of the output of flash attention; the last row of `sum` [block×query] is by what each query is divided.
attn::Mistakes mistakes_of_flash_output(const Tensor<2>& output, const Tensor<2>& sum);

}  // namespace lessons
