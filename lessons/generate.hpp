#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "lessons/multihead.hpp"

namespace lessons {

/// What decoding without formulas has written behind the prompt.
struct WrittenText {
  std::vector<std::string> words{};    ///< the vocabulary
  std::vector<std::string> typed{};    ///< the prompt
  std::vector<std::size_t> prompt{};   ///< its words, by their place in the vocabulary
  std::optional<std::size_t> end{};    ///< the word that ends a text, where there is one
  std::string about_words{};           ///< where they come from
  std::vector<std::size_t> written{};  ///< one word a step
  std::vector<Tensor<2>> logits{};     ///< of each step [1×vocabulary]

  /// The words of the prompt as they were typed, and those that the steps of the run have written so far.
  std::vector<std::string> so_far(const DocumentRun& run) const;
};

/// What the ids of a layer's tensors begin with, counted from 1: "layer=1", "layer=2", …; nothing where there
/// is one layer.
std::string layer_group(const Options& options, std::size_t layer);

/// The id of the attention weights of a step, counted from 0, in a layer, counted from 1.
std::string weights_id(const Options& options, std::size_t step, std::size_t layer);

}  // namespace lessons
