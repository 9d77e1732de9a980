#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "fast/train/trainer.hpp"
#include "fast/train/transformer.hpp"
#include "fast/train/translation_model.hpp"

namespace attn::train {

/// Words with their numbers, 0, 1, ….
class Vocabulary {
 public:
  explicit Vocabulary(std::vector<std::string> words);

  const std::vector<std::string>& words() const { return words_; }
  std::size_t size() const { return words_.size(); }

  bool has(const std::string& word) const { return ids_.count(word) > 0; }

  /// Throws std::logic_error for an unknown word.
  int id(const std::string& word) const;
  std::vector<int> ids(const std::vector<std::string>& words) const;

  /// Each word with a separator behind it.
  std::string text(const std::vector<int>& ids, const char* separator = " ") const;

 private:
  std::vector<std::string> words_;
  std::unordered_map<std::string, int> ids_;
};

/// The place of the largest number of a row, the first of several.
template <class Numbers>
std::size_t strongest(const Numbers& row) {
  return static_cast<std::size_t>(std::max_element(row.begin(), row.end()) - row.begin());
}

/// What a transformer reads, and the class of each position (or the one of the sentence); −1: none.
struct Labelled {
  std::vector<int> input;
  std::vector<int> targets;
};

Examples examples_of(const TransformerSizes& sizes, std::vector<Labelled> examples);

/// What a trained transformer makes of a sentence.
struct Reading {
  std::vector<int> classes;  ///< the likeliest of each position, or of the sentence
  /// [layer][head][query][key]
  std::vector<std::vector<std::vector<std::vector<float>>>> weights;
};

Reading read(const Weights<float>& weights, const TransformerSizes& sizes, const std::vector<int>& input);

/// Of the predictions, how many are right.
Share accuracy(const Weights<float>& weights, const TransformerSizes& sizes,
               const std::vector<Labelled>& examples);

/// Sentences and their translations.
struct Translations {
  Sequences sources, targets;
};

Examples examples_of(std::shared_ptr<const TranslationModel> model, Translations examples);

}  // namespace attn::train
