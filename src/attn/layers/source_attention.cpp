#include "attn/layers/source_attention.hpp"

#include <algorithm>
#include <cmath>

#include "attn/ops/arithmetic.hpp"
#include "attn/ops/heads.hpp"
#include "attn/ops/mask.hpp"
#include "attn/ops/matmul.hpp"
#include "attn/ops/shape_mismatch.hpp"
#include "attn/ops/slice.hpp"
#include "attn/ops/softmax.hpp"

namespace attn {

namespace {

/// x W, or x itself.
Tensor<3> project(const Tensor<3>& x, const std::optional<Tensor<2>>& W) {
  return W ? linear(x, *W) : x;
}

/// v · tanh(qᵢ + kⱼ) for every pair, one after the other: no layer [query×key×d_a] is held.
Tensor<4> additive_scores(const Tensor<4>& Q, const Tensor<4>& K, const Tensor<1>& v) {
  const auto [batch, heads, n_q, d_a] = Q.shape();
  const std::size_t n_k = K.shape(2);
  if (K.shape(3) != d_a) throw shape_mismatch("additive_scores", "Q", Q, "K", K, "the last axes must match");
  if (v.size() != d_a) throw shape_mismatch("additive_scores", "Q", Q, "v", v, "the last axes must match");
  Tensor<4> scores({batch, heads, n_q, n_k});
  for (std::size_t b = 0; b < batch; ++b)
    for (std::size_t h = 0; h < heads; ++h)
      for (std::size_t i = 0; i < n_q; ++i)
        for (std::size_t j = 0; j < n_k; ++j) {
          const double* q = &Q(b, h, i, 0);
          const double* k = &K(b, h, j, 0);
          double sum = 0.0;
          for (std::size_t c = 0; c < d_a; ++c)
            sum +=
                static_cast<double>(v(c)) * std::tanh(static_cast<double>(q[c]) + static_cast<double>(k[c]));
          scores(b, h, i, j) = static_cast<double>(sum);
        }
  return scores;
}

}  // namespace

SourceAttentionWeights bahdanau_attention(const Tensor<2>& W_q, const Tensor<2>& W_k,
                                             const Tensor<1>& v_a) {
  return {.W_Q = W_q, .W_K = W_k, .v_a = v_a};
}

SourceAttentionWeights luong_dot_attention() {
  return {};
}

SourceAttentionWeights luong_general_attention(const Tensor<2>& W_a) {
  return {.W_Q = W_a};
}

SourceAttentionWeights luong_concat_attention(const Tensor<2>& W_a, const Tensor<1>& v_a) {
  const std::size_t hidden = W_a.shape(0) / 2;
  return {.W_Q = rows(W_a, 0, hidden), .W_K = rows(W_a, hidden, 2 * hidden), .v_a = v_a};
}

SourceAttentionWeights multihead_source_attention(const MultiHeadWeights& weights, std::size_t heads) {
  return {.W_Q = weights.W_Q,
          .W_K = weights.W_K,
          .W_V = weights.W_V,
          .W_O = weights.W_O,
          .heads = heads,
          .is_scaled = true};
}

PreparedSource prepare_source(const Tensor<3>& states, const std::vector<std::size_t>& lengths,
                                 const SourceAttentionWeights& weights) {
  const std::size_t n = states.shape(1);
  const bool is_padded =
      std::any_of(lengths.begin(), lengths.end(), [n](std::size_t length) { return length < n; });
  return {.K = split_heads(project(states, weights.W_K), weights.heads),
          .V = split_heads(project(states, weights.W_V), weights.heads),
          .mask = is_padded ? std::optional(padding_mask(lengths, 1, n)) : std::nullopt};
}

SourceAttention attend_to_source(const Tensor<3>& queries, const PreparedSource& source,
                                    const SourceAttentionWeights& weights) {
  const auto Q = split_heads(project(queries, weights.W_Q), weights.heads);
  SourceAttention result;
  auto& [scores, scaled, masked, shares, mixture] = result.attention;
  scores = weights.v_a ? additive_scores(Q, source.K, *weights.v_a) : matmul(Q, transpose(source.K));
  scaled = weights.is_scaled ? divide(scores, std::sqrt(static_cast<double>(Q.shape(3)))) : scores;
  if (source.mask) masked = apply_mask(scaled, *source.mask);
  shares = softmax(masked ? *masked : scaled);
  mixture = matmul(shares, source.V);
  result.context = project(merge_heads(mixture), weights.W_O);
  return result;
}


}  // namespace attn
