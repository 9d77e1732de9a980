#pragma once

#include <optional>
#include <string>

#include "lessons/workbench/workbench.hpp"
#include "trace/event.hpp"

/// What to notice in weights under a mask, beside those that `scaled` [batch×query×key] gives without one.
namespace lessons {

/// The query and the key whose share grows most by the mask, in the first sample; none where no share grows.
/// The first query, which may see one key only, does not count, nor does padding: that sample has `tokens`.
std::optional<attn::Index> pair_that_gains_most(const Tensor<3>& weights, const Tensor<3>& scaled,
                                                std::size_t tokens);

/// That pair, and its row without a mask. `under_mask` are the weights under the mask, which `weights` tells.
std::string share_with_and_without(const attn::Event& weights, const Tensor<3>& under_mask,
                                   const Tensor<3>& scaled, std::size_t tokens);

/// That pair under the padding mask.
std::string share_under_padding(const attn::Event& weights, const Tensor<3>& under_mask,
                                const Tensor<3>& scaled, std::size_t tokens);

/// What a trained word needs that the mask hides from it, in the row of that pair.
std::string what_the_mask_takes_away(const attn::Event& weights, const Tensor<3>& under_mask,
                                     const Tensor<3>& scaled, std::size_t tokens);

}  // namespace lessons
