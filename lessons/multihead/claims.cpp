#include "lessons/workbench/claims.hpp"

#include <algorithm>
#include <string>

#include "attn/ops/matmul.hpp"
#include "attn/ops/measure.hpp"
#include "attn/ops/slice.hpp"
#include "lessons/multihead.hpp"

namespace lessons {

namespace {

/// The numbers of a bias that belong to part i, of `width` numbers.
std::optional<Tensor<1>> part_of_bias(const std::optional<Tensor<1>>& b, std::size_t i, std::size_t width) {
  if (!b) return std::nullopt;
  auto part = Tensor<1>::from_shape({width});
  std::copy_n(b->data() + i * width, width, part.begin());
  return part;
}

/// A bias with each part of `width` numbers `times` times in a row.
std::optional<Tensor<1>> repeat_parts(const std::optional<Tensor<1>>& b, std::size_t width,
                                      std::size_t times) {
  if (!b) return std::nullopt;
  auto repeated = Tensor<1>::from_shape({b->size() * times});
  for (std::size_t i = 0; i < repeated.size(); ++i)
    repeated(i) = (*b)(i / (width * times) * width + i % width);
  return repeated;
}

/// The columns of the weights that belong to head i.
ProjectionWeights weights_of_head(const Workbench& bench, const MultiHeadWeights& weights, std::size_t i) {
  const auto d_k = bench.d_k(), d_v = bench.d_v(), kv = i * bench.kv_heads() / bench.heads();
  return {attn::columns(weights.W_Q, i * d_k, (i + 1) * d_k),
          attn::columns(weights.W_K, kv * d_k, (kv + 1) * d_k),
          attn::columns(weights.W_V, kv * d_v, (kv + 1) * d_v),
          part_of_bias(weights.b_Q, i, d_k),
          part_of_bias(weights.b_K, kv, d_k),
          part_of_bias(weights.b_V, kv, d_v)};
}

/// The heads one by one, each as a single attention with its own columns of the weights.
double deviation_from_separate_heads(Workbench& mute, const Named& X_query, const Named& X_key,
                                     const MultiHeadWeights& weights, const Tensor<4>& heads,
                                     const std::optional<Mask<3>>& mask) {
  double deviation = 0.0;
  for (std::size_t i = 0; i < mute.heads(); ++i) {
    const auto single = single_head_attention(mute, X_query, X_key, weights_of_head(mute, weights, i), mask);
    deviation = attn::maximum({deviation, attn::max_abs_difference(attn::head(heads, i), single.output)});
  }
  return deviation;
}

/// Multi-head attention with nothing but head 0, beside the lesson self-attention with its weights.
double deviation_of_one_head(Workbench& mute, const Named& X_query, const Named& X_key,
                             const MultiHeadWeights& weights, const std::optional<Mask<3>>& mask) {
  const auto own = weights_of_head(mute, weights, 0);
  const auto W_O = attn::rows(weights.W_O, 0, mute.d_v());
  const MultiHeadWeights of_one = {own.W_Q, own.W_K, own.W_V, W_O, own.b_Q, own.b_K, own.b_V};
  const auto multihead = multihead_attention(mute, X_query, X_key, of_one, {1, 1}, mask);
  const auto single = single_head_attention(mute, X_query, X_key, own, mask);
  return attn::max_abs_difference(multihead.output, attn::linear(single.output, W_O));
}

/// The heads of full multi-head attention whose key and value weights repeat those of the shared heads.
Tensor<4> heads_with_repeated_weights(Workbench& mute, const Named& X_query, const Named& X_key,
                                      const MultiHeadWeights& weights, const std::optional<Mask<3>>& mask) {
  const auto h = mute.heads(), group = h / mute.kv_heads();
  const MultiHeadWeights full = {weights.W_Q,
                                 attn::repeat_column_blocks(weights.W_K, mute.d_k(), group),
                                 attn::repeat_column_blocks(weights.W_V, mute.d_v(), group),
                                 weights.W_O,
                                 weights.b_Q,
                                 repeat_parts(weights.b_K, mute.d_k(), group),
                                 repeat_parts(weights.b_V, mute.d_v(), group)};
  return multihead_attention(mute, X_query, X_key, full, {h, h}, mask).attention.output;
}

std::string grouping_claim(std::size_t heads, std::size_t kv_heads) {
  if (kv_heads == heads)
    return "with as many key and value heads as query heads it is plain multi-head attention";
  if (kv_heads == 1)
    return "multi-query attention is multi-head attention whose heads all share one key and value head";
  return "grouped-query attention is multi-head attention with each key and value head repeated for its "
         "group";
}

}  // namespace

namespace {

Tensor<4> read_by_all(const Tensor<4>& kv_heads, const MultiHeadAttention& shown) {
  return attn::repeat_heads(kv_heads, shown.Q_heads.shape(1));
}

Tensor<4> heads_without_dropout(const MultiHeadAttention& shown) {
  const auto& attention = shown.attention;
  return attention.dropped ? attn::matmul(attention.weights, read_by_all(shown.V_heads, shown))
                           : attention.output;
}

/// How large the numbers are that the heads are rounded at.
double magnitude_of_heads(const Workbench& bench, const MultiHeadAttention& shown) {
  return magnitude_of_scores(shown.Q_heads, read_by_all(shown.K_heads, shown),
                             divisor_of(bench.d_k(), bench.options.temperature)) *
         attn::max_abs(shown.V_heads);
}

}  // namespace

void claim_separate_heads(Workbench& bench, const Named& X_query, const Named& X_key,
                          const MultiHeadWeights& weights, const MultiHeadAttention& shown,
                          const std::optional<Mask<3>>& mask) {
  auto mute = bench.mute();
  const auto heads = heads_without_dropout(shown);
  bench.trace.claim({.id = "equals-separate-heads",
                     .claim = "each head is an attention with its own columns",
                     .formula = "max |headᵢ − Attention(X W_Qⁱ, X W_Kⁱ, X W_Vⁱ)|",
                     .value = deviation_from_separate_heads(mute, X_query, X_key, weights, heads, mask),
                     .limit = rounding(bench.trace, magnitude_of_heads(bench, shown))});
}

void claim_one_head(Workbench& bench, const Named& X_query, const Named& X_key,
                    const MultiHeadWeights& weights, const MultiHeadAttention& shown,
                    const std::optional<Mask<3>>& mask) {
  auto mute = bench.mute();
  bench.trace.claim(
      {.id = "one-head-equals-self-attention",
       .claim = "with one head it is the single attention of the lesson self-attention, times W_O",
       .formula = "max |multihead(h = 1) − Attention(Q, K, V) W_O|, with the weights of head 0",
       .value = deviation_of_one_head(mute, X_query, X_key, weights, mask),
       .limit = rounding(bench.trace, magnitude_of_heads(bench, shown) * static_cast<double>(bench.d_v()) *
                                          attn::max_abs(weights.W_O))});
}

void claim_kv_heads(Workbench& bench, const Named& X_query, const Named& X_key,
                    const MultiHeadWeights& weights, const MultiHeadAttention& shown,
                    const std::optional<Mask<3>>& mask) {
  auto mute = bench.mute();
  const auto repeated = heads_with_repeated_weights(mute, X_query, X_key, weights, mask);
  bench.trace.claim({.id = "kv-heads",
                     .claim = grouping_claim(bench.heads(), bench.kv_heads()),
                     .formula = "max |heads − multihead(weights repeated)|",
                     .value = attn::max_abs_difference(repeated, heads_without_dropout(shown)),
                     .limit = rounding(bench.trace, magnitude_of_heads(bench, shown))});
}

}  // namespace lessons
