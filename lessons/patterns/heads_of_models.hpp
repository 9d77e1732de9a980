#pragma once

#include <string>
#include <vector>

#include "lessons/patterns.hpp"
#include "lessons/trained/layers.hpp"

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

}  // namespace lessons
