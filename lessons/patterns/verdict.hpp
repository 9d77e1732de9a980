#pragma once

#include "lessons/workbench/workbench.hpp"

namespace lessons {

/// Whether the heads are as their training left them: then the page compares them with those of other models,
/// and else says where uniform and sharp attention come from.
bool is_as_trained(const Options& options);

/// The measures of every head beside those of the two ends, as far as there is room.
void compare_with_ends(Workbench& bench, const Tensor<4>& weights, const Tensor<4>& uniform,
                       const Tensor<4>& one_hot, const Tensor<2>& largest);

/// What the entropy [batch×head] says of this attention, where both failures come from and what helps.
void judge(Workbench& bench, const Tensor<2>& entropy, const Tensor<2>& largest);

}  // namespace lessons
