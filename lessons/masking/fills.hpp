#pragma once

#include "lessons/masking/claims.hpp"

/// What stands in the place of a score that is hidden: −∞ or −10⁹.
namespace lessons {

/// `causal/masked_1e9` and `causal/weights_1e9`: −10⁹ in place of −∞, beside the `weights` that −∞ gives.
void fill_with_large_negative(Workbench& bench, const Mask<3>& causal_mask, const Tensor<3>& scaled,
                              const Tensor<3>& weights);

/// `fully_masked/…`: the three answers to a query that may see nothing.
FullyMasked attend_to_nothing(Workbench& bench, const Tensor<3>& scaled);

}  // namespace lessons
