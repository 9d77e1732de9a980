#include "attn/ops/feed_forward.hpp"

#include "attn/ops/matmul.hpp"

namespace attn {

FeedForward feed_forward(const Tensor<3>& x, const FeedForwardWeights& weights,
                            Activation activation) {
  FeedForward result;
  result.hidden = activate(activation, linear(x, weights.W_1, weights.b_1));
  result.output = linear(result.hidden, weights.W_2, weights.b_2);
  return result;
}


}  // namespace attn
