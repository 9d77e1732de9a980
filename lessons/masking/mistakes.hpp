#pragma once

#include "lessons/workbench/workbench.hpp"
#include "trace/mistake.hpp"

namespace lessons {

/// The classic mistakes in making the masks [batch×query×key] of the lesson masking, and the other meaning of
/// true in them. What is passed by reference must live as long as the mistakes.

attn::Mistakes mistakes_of_causal_mask(const Mask<3>& mask);
attn::Mistakes mistakes_of_padding_mask(const Mask<3>& mask);
attn::Mistakes mistakes_of_combined_mask(const Mask<3>& causal, const Mask<3>& padding);

/// True for false and false for true. Ranks 3 and 4.
template <std::size_t N>
Mask<N> negated(Mask<N> mask);

}  // namespace lessons
