#include "attn/layers/attention.hpp"

#include <cmath>

#include "attn/ops/arithmetic.hpp"
#include "attn/ops/mask.hpp"
#include "attn/ops/matmul.hpp"
#include "attn/ops/softmax.hpp"

namespace attn {

template <std::size_t N>
Attention<N> scaled_dot_product_attention(const Tensor<N>& Q, const Tensor<N>& K,
                                             const Tensor<N>& V,
                                             const std::optional<Mask<3>>& mask, double temperature) {
  const auto d_k = static_cast<double>(Q.shape().back());
  Attention<N> attention;
  attention.scores = matmul(Q, transpose(K));
  attention.scaled = divide(attention.scores, std::sqrt(d_k) * temperature);
  if (mask) attention.masked = apply_mask(attention.scaled, *mask);
  attention.weights = softmax(mask ? *attention.masked : attention.scaled);
  attention.output = matmul(attention.weights, V);
  return attention;
}

template <std::size_t N>
AttentionGradients<N> scaled_dot_product_attention_backward(const Tensor<N>& d_output,
                                                               const Attention<N>& attention,
                                                               const Tensor<N>& Q, const Tensor<N>& K,
                                                               const Tensor<N>& V, double temperature) {
  const auto d_k = static_cast<double>(Q.shape().back());
  AttentionGradients<N> gradients;
  gradients.d_V = matmul(transpose(attention.weights), d_output);
  gradients.d_weights = matmul(d_output, transpose(V));
  gradients.d_scaled = softmax_backward(attention.weights, gradients.d_weights);
  gradients.d_scores = divide(gradients.d_scaled, std::sqrt(d_k) * temperature);
  gradients.d_Q = matmul(gradients.d_scores, K);
  gradients.d_K = matmul(attn::transpose(gradients.d_scores), Q);
  return gradients;
}

template Attention<3> scaled_dot_product_attention(const Tensor<3>&, const Tensor<3>&, const Tensor<3>&, const std::optional<Mask<3>>&, double);
template AttentionGradients<3> scaled_dot_product_attention_backward( const Tensor<3>&, const Attention<3>&, const Tensor<3>&, const Tensor<3>&, const Tensor<3>&, double);
template Attention<4> scaled_dot_product_attention(const Tensor<4>&, const Tensor<4>&, const Tensor<4>&, const std::optional<Mask<3>>&, double);
template AttentionGradients<4> scaled_dot_product_attention_backward( const Tensor<4>&, const Attention<4>&, const Tensor<4>&, const Tensor<4>&, const Tensor<4>&, double);

}  // namespace attn
