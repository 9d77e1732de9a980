#pragma once

#include "lessons/masking/claims.hpp"

namespace lessons {

/// `broadcast/…`: the same rule as a mask of two, three and four axes. With four axes head 0 has the causal
/// mask and head 1 the padding mask.
BroadcastMasks broadcast_masks(Workbench& bench, const Mask<3>& causal_mask, const Mask<3>& padding_mask,
                               const Tensor<3>& scaled);

}  // namespace lessons
