#include "attn/layers/key_value_cache.hpp"

#include <algorithm>
#include <optional>

#include "attn/ops/heads.hpp"
#include "attn/ops/mask.hpp"
#include "attn/ops/matmul.hpp"
#include "attn/ops/shape_mismatch.hpp"

namespace attn {

namespace {

/// The rows of each head of `more` behind those of `x`: [batch×head×n×d], [batch×head×new×d] →
/// [batch×head×(n+new)×d].
Tensor<4> append_rows(const std::string& name, const Tensor<4>& x, const Tensor<4>& more) {
  const auto [batch, heads, n, d] = x.shape();
  const auto added = more.shape(2);
  if (more.shape() != std::array{batch, heads, added, d})
    throw shape_mismatch("KeyValueCache", "the cache", x, name, more,
                         "all axes but that of the tokens must match");
  Tensor<4> result({batch, heads, n + added, d});
  auto end = result.begin();
  for (std::size_t head = 0; head < batch * heads; ++head) {
    end = std::copy_n(x.data() + head * n * d, n * d, end);
    end = std::copy_n(more.data() + head * added * d, added * d, end);
  }
  return result;
}

}  // namespace

KeyValueCache::KeyValueCache(std::size_t batch, std::size_t kv_heads, std::size_t d_k, std::size_t d_v)
    : keys_({batch, kv_heads, 0, d_k}), values_({batch, kv_heads, 0, d_v}) {}

void KeyValueCache::append(const Tensor<4>& keys, const Tensor<4>& values) {
  if (keys.shape(2) != values.shape(2))
    throw shape_mismatch("KeyValueCache", "keys", keys, "values", values,
                         "there must be a value for each key");
  auto all_keys = append_rows("keys", keys_, keys);
  values_ = append_rows("values", values_, values);
  keys_ = std::move(all_keys);
}

MultiHeadAttention cached_multihead_attention(const Tensor<3>& X, const MultiHeadWeights& weights,
                                                 std::size_t heads, KeyValueCache& cache) {
  const auto kv_heads = cache.keys().shape(1);
  MultiHeadAttention result;
  result.Q = linear(X, weights.W_Q);
  result.K = linear(X, weights.W_K);
  result.V = linear(X, weights.W_V);
  cache.append(split_heads(result.K, kv_heads), split_heads(result.V, kv_heads));
  result.Q_heads = split_heads(result.Q, heads);
  result.K_heads = cache.keys();
  result.V_heads = cache.values();
  const std::optional mask = repeat_mask(causal_mask(X.shape(1), cache.length()), X.shape(0));
  result.attention = scaled_dot_product_attention(result.Q_heads, repeat_heads(result.K_heads, heads),
                                                  repeat_heads(result.V_heads, heads), mask);
  result.concat = merge_heads(result.attention.output);
  result.output = linear(result.concat, weights.W_O);
  return result;
}


}  // namespace attn
