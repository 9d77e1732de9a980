#pragma once

#include <optional>

#include "lessons/documents/part_run.hpp"
#include "lessons/sdpa.hpp"
#include "lessons/workbench/model.hpp"

namespace lessons {

/// One head from the tokens on, the parts projections.md, scores.md and mixture.md: X_query
/// [batch×query×d_model] attends to X_key [batch×key×d_model], to the step `output`. The weights are W_Q,
/// W_K, W_V, and b_Q, b_K, b_V where they are given. Tokens and mask live as long as the run.
void tell_single_head(DocumentRun& run, const Named& X_query, const Named& X_key, const Views& weights,
                      const std::optional<Mask<3>>& mask);

/// The lesson that is the document self-attention.md.
const Lesson& self_attention_lesson();

}  // namespace lessons
