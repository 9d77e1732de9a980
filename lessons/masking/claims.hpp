#pragma once

#include "lessons/self_attention.hpp"

namespace lessons {

/// [batch×query×key], true = may be seen.
struct Masks {
  Mask<3> causal, padding, combined;
};

/// Attention from the mask on.
struct MaskedAttention {
  Tensor<3> weights;  ///< [batch×query×key]
  Tensor<3> output;   ///< [batch×query×d_v]
};

/// A mask whose first row is empty, and the weights that the lab makes of it.
struct FullyMasked {
  Mask<3> mask;  ///< [batch×query×key]
  Tensor<3> weights;
};

/// The weights of two heads with the same scores, [batch×head×query×key], under a mask of two, three and four
/// axes.
struct BroadcastMasks {
  Tensor<4> of_2D, of_3D, of_4D;
};

/// A run of the lesson masking.
struct MaskingRun {
  Tensor<3> X;  ///< [batch×token×d_model]
  Tensor<3> V;  ///< [batch×key×d_v]
  ProjectionWeights weights;
  Masks masks;
  MaskedAttention causal, padding, combined;
  FullyMasked fully_masked;
  BroadcastMasks broadcast;
};

/// What the masks hide and what they leave as it is: rows sum to 1, no weight falls on what is hidden, a
/// later word changes no earlier output, a query with nothing to see gets 0, and masks of more axes do the
/// same.
void claim_masking(Workbench& bench, const MaskingRun& run);

}  // namespace lessons
