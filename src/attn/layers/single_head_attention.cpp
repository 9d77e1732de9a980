#include "attn/layers/single_head_attention.hpp"

#include "attn/ops/matmul.hpp"

namespace attn {

template <class T>
Attention<T, 3> single_head_attention(const Tensor<T, 3>& X_query, const Tensor<T, 3>& X_key,
                                      const SingleHeadWeights<T>& weights,
                                      const std::optional<Tensor<bool, 3>>& mask, double temperature) {
  const auto Q = linear(X_query, weights.W_Q);
  const auto K = linear(X_key, weights.W_K);
  const auto V = linear(X_key, weights.W_V);
  return scaled_dot_product_attention(Q, K, V, mask, temperature);
}

#define INSTANTIATE(T)                                                                     \
  template Attention<T, 3> single_head_attention(const Tensor<T, 3>&, const Tensor<T, 3>&, \
                                                 const SingleHeadWeights<T>&,              \
                                                 const std::optional<Tensor<bool, 3>>&, double);
INSTANTIATE(float)
INSTANTIATE(double)

}  // namespace attn
