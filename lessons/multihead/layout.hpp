#pragma once

#include <string>
#include <vector>

#include "lessons/workbench/workbench.hpp"

/// Words and pictures of the lesson multihead that are no formulas.
namespace lessons {

/// Which columns of the weights are those of head 0 and of the last head.
std::string columns_of_weights(const Workbench& bench);

/// A query that looks at one word in head 0 and at another in head 1; of one head the largest share.
std::string what_heads_disagree_on(const attn::Event& weights);

/// What head 0 of the model about looks for, and how far head 1 does the same.
std::string what_trained_heads_look_for(const attn::Event& weights);

}  // namespace lessons
