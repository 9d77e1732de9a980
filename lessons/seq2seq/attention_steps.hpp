#pragma once

#include "attn/layers/source_attention.hpp"
#include "lessons/workbench/workbench.hpp"

namespace lessons {

/// From `scores` to `context`, within the group of the decoder: `masked` with padding, and with several heads
/// `scaled` and `mean_weights`.
template <class T>
void show_source_attention(Workbench<T>& bench, const attn::SourceAttention<T>& source);

}  // namespace lessons
