#pragma once

#include <optional>

#include "lessons/multihead.hpp"

namespace lessons {

/// A block of a transformer, the part block.md, to the steps `norm_1`, …, `output`: X [batch×token×d_model],
/// mask [batch×query×key], true = may be seen. The weights are attention/W_Q, …, W_1, b_1, W_2, b_2,
/// norm_1/gain, norm_1/bias and norm_2/…. With a memory, an encoder's output [batch×source×d_model], it is a
/// decoder's block, which has cross/W_Q, … and norm_cross/… as well. All of them live as long as the run.
void tell_block(DocumentRun& run, const Tensor<3>& X, const Views& weights, const Heads& heads,
                const std::optional<Mask<3>>& mask, const std::optional<Tensor<3>>& memory = std::nullopt);

/// Gives X and all weights of the second layer of the model about.
void give_block(ModelInputs& inputs);

}  // namespace lessons
