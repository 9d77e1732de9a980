#pragma once

#include <string>
#include <vector>

#include "lessons/patterns.hpp"
#include "lessons/trained/layers.hpp"
#include "lessons/workbench/workbench.hpp"

namespace lessons {

/// A head of a shipped model.
struct HeadOfModel {
  std::string name;   ///< "language 2, head 3"
  std::string label;  ///< "language 2.3"
  HeadMeasures measures;
  HeadKind kind;
  std::string looks;  ///< "itself"
};

/// Told apart by their measures.
std::vector<HeadOfModel> heads_of_layers(const std::vector<LayerOfModel>& layers);

/// What the heads of the shipped models do: the step `models/measures` [head_of_model×measure], the notes
/// `models` with one head of each kind that is named after a share of its own, and `models/kinds` with all
/// of them, and the claims about the two heads of the model induction.
void show_heads_of_models(Workbench& bench);

/// In a few words: "word before", or "one word: not".
std::string in_words(HeadKind kind, const HeadMeasures& measures, const ReadByHead& text);

/// A line for each of these kinds with what is meant by it, in the order of the kinds.
std::string meanings_of(const std::vector<HeadKind>& kinds);

/// What kind of head each is: whether it looks ahead, back, at one word …, by its weights
/// [batch×head×query×key] and the largest entropy possible [batch×head].
void show_kinds(Workbench& bench, const Tensor<4>& weights, const std::vector<double>& largest);

}  // namespace lessons
