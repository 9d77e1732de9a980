#pragma once

#include "lessons/workbench/workbench.hpp"

namespace lessons {

/// The note `learned`: a head of the model `language`, which was trained with the causal mask. Beside a run
/// with trained weights.
void show_learned_mask(Workbench& bench);

}  // namespace lessons
