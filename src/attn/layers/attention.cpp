#include "attn/layers/attention.hpp"

#include <cmath>

#include "attn/ops/arithmetic.hpp"
#include "attn/ops/mask.hpp"
#include "attn/ops/matmul.hpp"
#include "attn/ops/softmax.hpp"

namespace attn {

template <class T, std::size_t N>
Attention<T, N> scaled_dot_product_attention(const Tensor<T, N>& Q, const Tensor<T, N>& K,
                                             const Tensor<T, N>& V,
                                             const std::optional<Tensor<bool, 3>>& mask, double temperature) {
  const auto d_k = static_cast<double>(Q.shape().back());
  Attention<T, N> attention;
  attention.scores = matmul(Q, transpose(K));
  attention.scaled = divide(attention.scores, std::sqrt(d_k) * temperature);
  if (mask) attention.masked = apply_mask(attention.scaled, *mask);
  attention.weights = softmax(mask ? *attention.masked : attention.scaled);
  attention.output = matmul(attention.weights, V);
  return attention;
}

template <class T, std::size_t N>
AttentionGradients<T, N> scaled_dot_product_attention_backward(const Tensor<T, N>& d_output,
                                                               const Attention<T, N>& attention,
                                                               const Tensor<T, N>& Q, const Tensor<T, N>& K,
                                                               const Tensor<T, N>& V, double temperature) {
  const auto d_k = static_cast<double>(Q.shape().back());
  AttentionGradients<T, N> gradients;
  gradients.d_V = matmul(transpose(attention.weights), d_output);
  gradients.d_weights = matmul(d_output, transpose(V));
  gradients.d_scaled = softmax_backward(attention.weights, gradients.d_weights);
  gradients.d_scores = divide(gradients.d_scaled, std::sqrt(d_k) * temperature);
  gradients.d_Q = matmul(gradients.d_scores, K);
  gradients.d_K = matmul(attn::transpose(gradients.d_scores), Q);
  return gradients;
}

#define INSTANTIATE(T, N)                                                                               \
  template Attention<T, N> scaled_dot_product_attention(const Tensor<T, N>&, const Tensor<T, N>&,       \
                                                        const Tensor<T, N>&,                            \
                                                        const std::optional<Tensor<bool, 3>>&, double); \
  template AttentionGradients<T, N> scaled_dot_product_attention_backward(                              \
      const Tensor<T, N>&, const Attention<T, N>&, const Tensor<T, N>&, const Tensor<T, N>&,            \
      const Tensor<T, N>&, double);
INSTANTIATE(float, 3)
INSTANTIATE(float, 4)
INSTANTIATE(double, 3)
INSTANTIATE(double, 4)

}  // namespace attn
