#include "attn/layers/single_head_attention.hpp"

#include "attn/ops/matmul.hpp"

namespace attn {

Attention<3> single_head_attention(const Tensor<3>& X_query, const Tensor<3>& X_key,
                                      const SingleHeadWeights& weights,
                                      const std::optional<Mask<3>>& mask, double temperature) {
  const auto Q = linear(X_query, weights.W_Q);
  const auto K = linear(X_key, weights.W_K);
  const auto V = linear(X_key, weights.W_V);
  return scaled_dot_product_attention(Q, K, V, mask, temperature);
}


}  // namespace attn
