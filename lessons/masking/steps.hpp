#pragma once

#include <string>

#include "lessons/workbench/workbench.hpp"

namespace lessons {

/// Attention from the mask on.
template <class T>
struct MaskedAttention {
  Tensor<T, 3> weights;  ///< [batch×query×key]
  Tensor<T, 3> output;   ///< [batch×query×d_v]
};

/// Shows `NAME/masked`, `NAME/weights` and `NAME/output`: what the mask `NAME_mask` makes of scores
/// [batch×query×key] and values [batch×key×d_v].
template <class T>
MaskedAttention<T> show_masked_attention(Workbench<T>& bench, const std::string& name,
                                         const Tensor<bool, 3>& mask, const Tensor<T, 3>& scaled,
                                         const Tensor<T, 3>& V, const std::string& weights_note);

/// Shows `causal/masked_1e9` and `causal/weights_1e9`: −10⁹ in place of −∞, beside the `weights` that −∞
/// gives.
template <class T>
void show_large_negative_fill(Workbench<T>& bench, const Tensor<bool, 3>& causal_mask,
                              const Tensor<T, 3>& scaled, const Tensor<T, 3>& weights);

/// A mask whose first row is empty, and the weights that the lab makes of it.
template <class T>
struct FullyMasked {
  Tensor<bool, 3> mask;  ///< [batch×query×key]
  Tensor<T, 3> weights;
};

/// Shows `fully_masked/…`: the three answers to a query that may see nothing.
template <class T>
FullyMasked<T> show_fully_masked_row(Workbench<T>& bench, const Tensor<T, 3>& scaled);

/// The weights of two heads with the same scores [batch×head×query×key], under a mask of two, three and four
/// axes.
template <class T>
struct BroadcastMasks {
  Tensor<T, 4> of_2D, of_3D, of_4D;
};

/// Shows `broadcast/scaled`, `broadcast=4D/mask` and for each number of axes `broadcast=…/weights`. With four
/// axes head 0 has the causal mask and head 1 the padding mask.
template <class T>
BroadcastMasks<T> show_broadcast_masks(Workbench<T>& bench, const Tensor<bool, 3>& causal_mask,
                                       const Tensor<bool, 3>& padding_mask, const Tensor<T, 3>& scaled);

}  // namespace lessons
