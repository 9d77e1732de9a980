#pragma once

#include <string>
#include <vector>

#include "lessons/patterns.hpp"
#include "lessons/workbench/workbench.hpp"

namespace lessons {

/// In a few words: "word before", or "one word: not".
std::string in_words(HeadKind kind, const HeadMeasures& measures, const ReadByHead& text);

/// A line for each of these kinds with what is meant by it, in the order of the kinds.
std::string meanings_of(const std::vector<HeadKind>& kinds);

/// What kind of head each is: whether it looks ahead, back, at one word …, by its weights
/// [batch×head×query×key] and the largest entropy possible [batch×head].
void show_kinds(Workbench& bench, const Tensor<4>& weights, const std::vector<double>& largest);

}  // namespace lessons
