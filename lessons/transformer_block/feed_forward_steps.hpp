#pragma once

#include "attn/ops/feed_forward.hpp"
#include "lessons/workbench/workbench.hpp"

namespace lessons {

/// What `--activation` names.
template <class T>
attn::Activation activation_of(const Workbench<T>& bench);

/// The inputs `W_1`, `b_1`, `W_2`, `b_2`; the biases are 0 and cost no draw.
template <class T>
attn::FeedForwardWeights<T> draw_feed_forward_weights(Workbench<T>& bench);

/// Shows the feed-forward network of a transformer block: `ffn/hidden` and `ffn/output`, which it returns,
/// and claims that it mixes no tokens.
template <class T>
Named<T> show_feed_forward(Workbench<T>& bench, const Named<T>& x,
                           const attn::FeedForwardWeights<T>& weights);

}  // namespace lessons
