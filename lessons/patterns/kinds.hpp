#pragma once

#include "lessons/workbench/workbench.hpp"

namespace lessons {

/// What kind of head each is: whether it looks ahead, back, at one word …, by its weights
/// [batch×head×query×key], their entropy and the largest one possible [batch×head].
void show_kinds(Workbench& bench, const Tensor<4>& weights, const Tensor<2>& spread,
                const Tensor<2>& largest);

}  // namespace lessons
