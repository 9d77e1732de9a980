#pragma once

#include <utility>

#include "attn/train/clipping.hpp"
#include "attn/train/dropout_moments.hpp"
#include "lessons/workbench/workbench.hpp"

namespace lessons {

/// How many keys dropout is shown on.
constexpr std::size_t dropout_keys = 6;

struct ShownDropout {
  Tensor<1> weights;  ///< [key]
  attn::DropoutMoments moments;
};

/// Shows the group dropout/.
ShownDropout show_dropout_masks(Workbench& bench);

struct ShownSchedule {
  Integers<1> steps;  ///< [step]
  Tensor<1> rate;              ///< [step]
};

/// Shows the group schedule/.
ShownSchedule show_schedule(Workbench& bench);

/// Shows the group clipping/. Returns the gradients and what clipping by their norm makes of them.
std::pair<Tensor<2>, attn::Clipped> show_clipping(Workbench& bench);

}  // namespace lessons
