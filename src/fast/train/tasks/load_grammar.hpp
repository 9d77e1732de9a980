#pragma once

#include "corpora/grammar.hpp"
#include "fast/train/tasks/task.hpp"

namespace attn::train {

/// The grammar that the options name, else the lab's own.
corpora::Grammar load_grammar(const TaskOptions& options);

}  // namespace attn::train
