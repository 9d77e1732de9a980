#pragma once

#include <optional>

#include "attn/layers/transformer_block.hpp"

namespace attn {

/// What a claim about a transformer block measures. Instantiated for float and double.

/// The largest change in any earlier row of the output when the last token of each sample becomes another: 0
/// where no token sees a later one. The arguments are those of `transformer_block`.
template <class T>
double look_ahead(const Tensor<T, 3>& X, const TransformerBlockWeights<T>& weights,
                  const TransformerBlockSettings& settings, const std::optional<Tensor<bool, 3>>& mask,
                  const std::optional<Memory<T>>& memory = std::nullopt);

/// How far the output of a pre-norm block is from the sum of X and what its sublayers found: max |X +
/// (attention + cross-attention + feed-forward network) − output|.
template <class T>
double deviation_from_sum(const Tensor<T, 3>& X, const TransformerBlock<T>& block);

}  // namespace attn
