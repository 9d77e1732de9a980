#pragma once

#include "attn/ops/feed_forward.hpp"
#include "lessons/workbench/workbench.hpp"

namespace lessons {

/// What `--activation` names.
attn::Activation activation_of(const Workbench& bench);

/// The inputs `W_1`, `b_1`, `W_2`, `b_2`; the biases are 0 and cost no draw.
attn::FeedForwardWeights draw_feed_forward_weights(Workbench& bench);

/// Shows the feed-forward network of a transformer block: `ffn/hidden` and `ffn/output`, which it returns,
/// and claims that it mixes no tokens.
Named show_feed_forward(Workbench& bench, const Named& x,
                           const attn::FeedForwardWeights& weights);

}  // namespace lessons
