#pragma once

#include <optional>

#include "lessons/workbench/workbench.hpp"
#include "trace/mistake.hpp"

namespace lessons {

/// The mistakes that data/mistakes/ has formulas of, in steps of scaled dot-product attention in lessons that
/// are no documents. Ranks 3 and 4, as in sdpa.hpp. What is passed by reference must live as long as the
/// mistakes.

/// Of `masked`. scaled [batch…×query×key], mask [batch×query×key].
template <std::size_t N>
attn::Mistakes mistakes_of_masked(const Workbench& bench, const Tensor<N>& scaled, const Mask<3>& mask);

/// Of `weights`. `seen` is what softmax takes, `scaled` the same before the mask; `divisor` is what the
/// scores were divided by.
template <std::size_t N>
attn::Mistakes mistakes_of_weights(const Workbench& bench, const Tensor<N>& seen, const Tensor<N>& scaled,
                                   const std::optional<Mask<3>>& mask, double divisor);

/// Of the result. weights [batch…×query×key], V [batch…×key×d_v].
template <std::size_t N>
attn::Mistakes mistakes_of_output(const Workbench& bench, const Tensor<N>& weights, const Tensor<N>& V);

}  // namespace lessons
