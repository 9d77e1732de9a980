#include "attn/ops/feed_forward.hpp"

#include "attn/ops/matmul.hpp"

namespace attn {

template <class T>
FeedForward<T> feed_forward(const Tensor<T, 3>& x, const FeedForwardWeights<T>& weights,
                            Activation activation) {
  FeedForward<T> result;
  result.hidden = activate(activation, linear(x, weights.W_1, weights.b_1));
  result.output = linear(result.hidden, weights.W_2, weights.b_2);
  return result;
}

template FeedForward<float> feed_forward(const Tensor<float, 3>&, const FeedForwardWeights<float>&,
                                         Activation);
template FeedForward<double> feed_forward(const Tensor<double, 3>&, const FeedForwardWeights<double>&,
                                          Activation);

}  // namespace attn
