#include "attn/layers/multihead_attention.hpp"

#include "attn/ops/heads.hpp"
#include "attn/ops/matmul.hpp"

namespace attn {

MultiHeadAttention multihead_attention(const Tensor<3>& X_query, const Tensor<3>& X_key,
                                          const MultiHeadWeights& weights, std::size_t heads,
                                          std::size_t kv_heads, const std::optional<Mask<3>>& mask,
                                          double temperature) {
  MultiHeadAttention result;
  result.Q = linear(X_query, weights.W_Q);
  result.K = linear(X_key, weights.W_K);
  result.V = linear(X_key, weights.W_V);
  result.Q_heads = split_heads(result.Q, heads);
  result.K_heads = split_heads(result.K, kv_heads);
  result.V_heads = split_heads(result.V, kv_heads);
  result.attention = scaled_dot_product_attention(result.Q_heads, repeat_heads(result.K_heads, heads),
                                                  repeat_heads(result.V_heads, heads), mask, temperature);
  result.concat = merge_heads(result.attention.output);
  result.output = linear(result.concat, weights.W_O);
  return result;
}


}  // namespace attn
