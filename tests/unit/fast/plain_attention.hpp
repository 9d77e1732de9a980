#pragma once

#include <cmath>
#include <type_traits>

#include "attn/layers/attention.hpp"
#include "attn/ops/mask.hpp"
#include "attn/ops/measure.hpp"
#include "attn/ops/slice.hpp"
#include "tests/unit/random_tensor.hpp"

/// What the kernels' plain twins start from and give, as matrices.

template <class T>
constexpr double rounding = std::is_same_v<T, double> ? 1e-13 : 1e-5;

template <class T>
struct AttentionInputs {
  attn::Array<T, 2> Q, K, V;
};

template <class T>
AttentionInputs<T> random_attention(std::size_t n, std::size_t d_k, std::size_t d_v) {
  return {random_tensor<T, 2>({n, d_k}, 1), random_tensor<T, 2>({n, d_k}, 2),
          random_tensor<T, 2>({n, d_v}, 3)};
}

template <class T>
struct PlainAttention {
  attn::Array<T, 2> weights, output;
};

template <class T>
PlainAttention<T> plain_attention(const AttentionInputs<T>& in, const attn::Array<bool, 2>& mask) {
  const auto attention = attn::scaled_dot_product_attention(
      attn::as_batch(in.Q), attn::as_batch(in.K), attn::as_batch(in.V), {attn::repeat_mask(mask, 1)});
  return {attn::sample(attention.weights, 0), attn::sample(attention.output, 0)};
}
