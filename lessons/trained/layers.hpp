#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

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
};

/// Every attention of every shipped model of attention, computed by the functions of the lessons that teach
/// it, on texts that the models know. Throws attn::Error where a model is missing or has another structure.
std::vector<LayerOfModel> layers_of_models();

/// Those of one model, "induction"; not of a translator.
std::vector<LayerOfModel> layers_of_model(std::string_view model);

}  // namespace lessons
