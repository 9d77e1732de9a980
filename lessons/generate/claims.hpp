#pragma once

#include <vector>

#include "lessons/generate.hpp"

/// What the lesson generate claims of the text that it has written.
namespace lessons {

/// The largest difference between the logits of decoding token by token and those of a full pass, `hidden`
/// [1×token×d_model], whose last rows score the same tokens. Throws std::invalid_argument where there are
/// more steps than rows.
double deviation_from_full_pass(Workbench& mute, const CausalDecoder& decoder,
                                const std::vector<Tensor<2>>& logits_by_step, const Tensor<3>& hidden);

/// One pass over the whole text, without a cache, gives the same logits and writes the same tokens. The step
/// `full/logits` has its logits.
void claim_full_pass(Workbench& bench, const CausalDecoder& decoder, const Decoding& decoding);

/// No weight falls on a later token, and each row sums to 1.
void claim_weights(Workbench& bench, const Decoding& decoding);

}  // namespace lessons
