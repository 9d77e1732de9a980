#pragma once

#include <optional>

#include "attn/tensor.hpp"
#include "fast/exact/kernels.hpp"
#include "fast/sparse/pattern.hpp"

namespace attn {

/// The visibility, in which the fast kernels put it, that a mask [batch×query×key], true = may be seen, is: a
/// causal one, a window, hidden padding, any of them together, or nothing hidden. It is the narrowest one: it
/// rules out whatever no query sees anyway. Nothing where the mask is of no such kind.
std::optional<exact::Visibility> visibility_of(const Array<bool, 3>& mask);

/// The pattern of the largest blocks that keeps just the pairs where a mask [query×key] is true. Blocks of 1
/// can do it for any mask. Where `causal`, pairs with a later key count neither way: the kernels hide them.
fast::BlockPattern coarsest_pattern(const Array<bool, 2>& mask, bool causal);

}  // namespace attn
