#pragma once

#include "attn/ops/activation.hpp"
#include "attn/tensor.hpp"

namespace attn {

/// The weights of the feed-forward network of a transformer block.
struct FeedForwardWeights {
  Tensor<2> W_1;  ///< [d_model×d_ff]
  Tensor<1> b_1;  ///< [d_ff]
  Tensor<2> W_2;  ///< [d_ff×d_model]
  Tensor<1> b_2;  ///< [d_model]
};

/// The position-wise feed-forward network (Vaswani et al. 2017, equation 2) and what it is made of.
struct FeedForward {
  Tensor<3> hidden;  ///< activation(x W_1 + b_1) [batch×n×d_ff]
  Tensor<3> output;  ///< hidden W_2 + b_2 [batch×n×d_model]
};

/// x is [batch×n×d_model]. Instantiated for float and double. Throws std::invalid_argument, with both shapes,
/// where they do not match.
FeedForward feed_forward(const Tensor<3>& x, const FeedForwardWeights& weights,
                            Activation activation);

}  // namespace attn
