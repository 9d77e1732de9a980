#pragma once

#include "lessons/workbench/workbench.hpp"

namespace lessons {

/// Shows softmax(scores / T) for temperatures from 0.01 to 100 and what it does to entropy and gradient.
/// Returns the entropies, the one of the lowest temperature first.
Tensor<1> show_temperatures(Workbench& bench, const Tensor<1>& scores);

}  // namespace lessons
