#pragma once

#include "attn/layers/source_attention.hpp"
#include "lessons/workbench/workbench.hpp"

namespace lessons {

/// From `scores` to `context`, within the group of the decoder: `masked` with padding, and with several heads
/// `scaled` and `mean_weights`.
void show_source_attention(Workbench& bench, const attn::SourceAttention& source);

}  // namespace lessons
