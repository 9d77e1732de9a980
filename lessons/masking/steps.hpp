#pragma once

#include <string>

#include "lessons/workbench/workbench.hpp"

namespace lessons {

/// Attention from the mask on.
struct MaskedAttention {
  Tensor<3> weights;  ///< [batch×query×key]
  Tensor<3> output;   ///< [batch×query×d_v]
};

/// Shows `NAME/masked`, `NAME/weights` and `NAME/output`: what the mask `NAME_mask` makes of scores
/// [batch×query×key] and values [batch×key×d_v].
MaskedAttention show_masked_attention(Workbench& bench, const std::string& name,
                                         const Mask<3>& mask, const Tensor<3>& scaled,
                                         const Tensor<3>& V, const std::string& weights_note);

/// Shows `causal/masked_1e9` and `causal/weights_1e9`: −10⁹ in place of −∞, beside the `weights` that −∞
/// gives.
void show_large_negative_fill(Workbench& bench, const Mask<3>& causal_mask,
                              const Tensor<3>& scaled, const Tensor<3>& weights);

/// A mask whose first row is empty, and the weights that the lab makes of it.
struct FullyMasked {
  Mask<3> mask;  ///< [batch×query×key]
  Tensor<3> weights;
};

/// Shows `fully_masked/…`: the three answers to a query that may see nothing.
FullyMasked show_fully_masked_row(Workbench& bench, const Tensor<3>& scaled);

/// The weights of two heads with the same scores [batch×head×query×key], under a mask of two, three and four
/// axes.
struct BroadcastMasks {
  Tensor<4> of_2D, of_3D, of_4D;
};

/// Shows `broadcast/scaled`, `broadcast=4D/mask` and for each number of axes `broadcast=…/weights`. With four
/// axes head 0 has the causal mask and head 1 the padding mask.
BroadcastMasks show_broadcast_masks(Workbench& bench, const Mask<3>& causal_mask,
                                       const Mask<3>& padding_mask, const Tensor<3>& scaled);

}  // namespace lessons
