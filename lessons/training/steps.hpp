#pragma once

#include <utility>

#include "attn/train/clipping.hpp"
#include "attn/train/dropout_moments.hpp"
#include "lessons/workbench/workbench.hpp"

namespace lessons {

/// How many keys dropout is shown on.
constexpr std::size_t dropout_keys = 6;

template <class T>
struct ShownDropout {
  Tensor<T, 1> weights;  ///< [key]
  attn::DropoutMoments<T> moments;
};

/// Shows the group dropout/.
template <class T>
ShownDropout<T> show_dropout_masks(Workbench<T>& bench);

template <class T>
struct ShownSchedule {
  Tensor<std::int64_t, 1> steps;  ///< [step]
  Tensor<T, 1> rate;              ///< [step]
};

/// Shows the group schedule/.
template <class T>
ShownSchedule<T> show_schedule(Workbench<T>& bench);

/// Shows the group clipping/. Returns the gradients and what clipping by their norm makes of them.
template <class T>
std::pair<Tensor<T, 2>, attn::Clipped<T>> show_clipping(Workbench<T>& bench);

}  // namespace lessons
