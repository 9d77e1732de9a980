#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "attn/tensor.hpp"
#include "trace/any_tensor.hpp"

namespace attn {

/// The name and version of the models that this program writes: see data/models/README.md.
constexpr std::string_view model_schema = "attnlab.model/1";

/// A weight of a model under the id that the lessons give it.
struct ModelTensor {
  std::string id;
  Shape shape;
  std::vector<double> values;  ///< in row-major order
};

/// What was measured of examples of some lengths: of those with `fewest` to `most` words.
struct ScoreOfLengths {
  std::size_t fewest, most, examples;
  double value;
};

/// Trained weights, and what is known about them.
struct Model {
  std::string task{};                                              ///< "about"
  std::map<std::string, std::string> configuration{};              ///< "heads" "2"
  std::map<std::string, std::vector<std::string>> vocabularies{};  ///< "words": of the rows of a table
  std::map<std::string, double> scores{};                          ///< what was measured after training
  std::map<std::string, std::size_t> examples_scored{};  ///< of which a score is a share; may be empty
  std::vector<ScoreOfLengths> scores_by_length{};        ///< how a score depends on the length; may be empty
  std::string command{};                                 ///< that made it
  std::vector<ModelTensor> tensors{};
  std::map<std::string, std::string> training{};  ///< where a training that goes on stands; else empty

  /// What the configuration says of `name`, and nothing where it does not say it.
  std::string said(const std::string& name) const;

  /// A number of the configuration. Throws Error where it has none of that name.
  std::size_t number(const std::string& name) const;

  /// Null where there is none of that id.
  const ModelTensor* find(std::string_view id) const;

  /// Throws Error, naming the model's task and what there is, where there is none.
  const ModelTensor& at(std::string_view id) const;

  /// A weight with two axes, or with one. These throw Error where there is none of that id with as many.
  Tensor<2> matrix(std::string_view id) const;
  Tensor<1> vector(std::string_view id) const;
};

/// The bytes of a .safetensors file, with numbers rounded to that floating-point type.
std::string model_file(const Model& model, Dtype dtype);

/// Throws Error, with the path and what is wrong, for a file that is no model of ours, is truncated or
/// contradicts itself.
Model read_model(const std::string& path);

/// The model of that name in the lab's folder of models, read once: the book runs lesson after lesson.
std::shared_ptr<const Model> shipped_model(const std::string& name);

/// Where the file of a shipped model was looked for in vain; empty where it is there.
std::string missing_model_file(const std::string& name);

/// The same of its scores by length alone.
std::vector<ScoreOfLengths> read_scores_by_length(const std::string& path);

/// The model with its numbers rounded to that type, as reading what was written would give it.
Model rounded(Model model, Dtype dtype);

}  // namespace attn
