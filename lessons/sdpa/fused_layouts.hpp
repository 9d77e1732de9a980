#pragma once

#include "lessons/documents/document_run.hpp"

namespace lessons {

/// The mistakes `qkv-layout` in the steps Q, K and V: their weights lie side by side in one matrix, and it is
/// cut as if it were packed otherwise. They are no formulas but an order in memory.
void add_fused_layouts(Functions& functions);

}  // namespace lessons
