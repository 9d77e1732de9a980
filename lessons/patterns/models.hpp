#pragma once

#include <set>
#include <string>
#include <vector>

#include "lessons/patterns.hpp"
#include "lessons/workbench/workbench.hpp"

namespace lessons {

/// The heads of one layer of a shipped model, and what they read.
struct LayerOfModel {
  std::string model;  ///< "language"
  std::string part;   ///< the same, or that part of a translator: "encoder"
  std::string name;   ///< "encoder 2": with the number of the layer where there are several
  std::vector<std::string> queries, keys;
  std::vector<std::set<std::size_t>>
      links{};        ///< of a translation: the keys that each query's word comes from
  Tensor<4> weights;  ///< [1×head×query×key]
  Mask<3> visible;    ///< [1×query×key]

  ReadByHead text() const { return {queries, keys, links}; }
};

/// Every attention of every shipped model of attention, computed by the functions of the lessons that teach
/// it, on texts that the models know. Throws attn::Error where a model is missing or has another structure.
std::vector<LayerOfModel> layers_of_models();

/// One of their heads.
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
