#pragma once

#include <optional>

#include "attn/layers/transformer_block.hpp"

namespace attn {

/// What a claim about a transformer block measures. Instantiated for float and double.

/// The largest change in any earlier row of the output when the last token of each sample becomes another: 0
/// where no token sees a later one. The arguments are those of `transformer_block`.
double look_ahead(const Tensor<3>& X, const TransformerBlockWeights& weights,
                  const TransformerBlockSettings& settings, const std::optional<Mask<3>>& mask,
                  const std::optional<Memory>& memory = std::nullopt);

/// How far the output of a pre-norm block is from the sum of X and what its sublayers found: max |X +
/// (attention + cross-attention + feed-forward network) − output|.
double deviation_from_sum(const Tensor<3>& X, const TransformerBlock& block);

}  // namespace attn
