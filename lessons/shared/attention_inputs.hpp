#pragma once

#include "attn/layers/attention.hpp"
#include "lessons/workbench/workbench.hpp"

namespace lessons {

/// The tokens that queries and keys belong to. One sentence gives both, or the target gives the queries and
/// the source the keys.
const attn::TokenBatch& query_tokens(const Plan& plan);
const attn::TokenBatch& key_tokens(const Plan& plan);

/// Labels the queries and keys with the tokens and shows the inputs `lengths`, `Q`, `K`, `V`, each drawn
/// normal(0, 1) in that order, and `mask`.
attn::AttentionInputs show_attention_inputs(Workbench& bench);

/// Elements of these inputs and of the steps from `scores` to `output`.
double attention_element_count(const Plan& plan);

}  // namespace lessons
