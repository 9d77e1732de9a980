#pragma once

#include <string>
#include <vector>

#include "lessons/workbench/workbench.hpp"

/// Words and pictures of the lesson multihead that are no formulas.
namespace lessons {

/// A query that looks at one word in head 0 and at another in head 1; of one head the largest share.
std::string what_heads_disagree_on(const attn::Event& weights);

/// What each head of the model sentiment gives on average to the words of its text that get most.
std::string heads_of_sentiment();

}  // namespace lessons
