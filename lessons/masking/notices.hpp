#pragma once

#include <string>

#include "lessons/workbench/workbench.hpp"
#include "trace/event.hpp"

/// What to notice in weights under a mask, beside those that `scaled` [batch×query×key] gives without one.
namespace lessons {

/// The row of weights in which a key gains most by the mask, beside the same row without it.
std::string share_with_and_without(const attn::Event& weights, const Tensor<3>& scaled);

/// What the mask takes away from a trained word: the largest share that it gave to a key that is hidden now.
std::string what_the_mask_takes_away(const attn::Event& weights, const Tensor<3>& scaled);

}  // namespace lessons
