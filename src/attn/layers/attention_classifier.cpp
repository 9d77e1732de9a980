#include "attn/layers/attention_classifier.hpp"

#include "attn/ops/arithmetic.hpp"
#include "attn/ops/mask.hpp"
#include "attn/ops/matmul.hpp"
#include "attn/ops/pooling.hpp"
#include "attn/ops/softmax.hpp"

namespace attn {

AttentionClassifier attention_classifier(const Tensor<3>& encoded,
                                            const AttentionClassifierWeights& weights, std::size_t heads,
                                            const std::vector<std::size_t>& lengths) {
  const std::optional mask = padding_mask(lengths, encoded.shape(1), encoded.shape(1));
  AttentionClassifier result;
  result.attention = multihead_attention(encoded, encoded, weights.attention, heads, heads, mask);
  result.residual = add(encoded, result.attention.output);
  result.normalized = layer_norm(result.residual, weights.norm.gain, weights.norm.bias);
  result.pooled = mean_pool(result.normalized, lengths);
  result.logits = linear(result.pooled, weights.W_class);
  result.probabilities = softmax(result.logits);
  return result;
}


}  // namespace attn
