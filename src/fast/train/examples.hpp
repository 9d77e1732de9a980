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

/// Examples for a transformer.
class LabelledExamples : public Examples {
 public:
  LabelledExamples(TransformerSizes sizes, std::vector<Labelled> examples)
      : sizes_(sizes), examples_(std::move(examples)) {}

  std::size_t count() const override { return examples_.size(); }
  std::size_t length(std::size_t example) const override { return examples_[example].input.size(); }
  std::size_t predictions(std::size_t example) const override;
  Variable<float> loss(Tape<float>& tape, const Weights<float>& weights,
                       const std::vector<std::size_t>& examples, float scale, double dropout,
                       Random* random) const override;

  const std::vector<Labelled>& all() const { return examples_; }

 private:
  TransformerSizes sizes_;
  std::vector<Labelled> examples_;
};

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
class TranslationExamples : public Examples {
 public:
  TranslationExamples(std::shared_ptr<const TranslationModel> model, Sequences sources, Sequences targets)
      : model_(std::move(model)), sources_(std::move(sources)), targets_(std::move(targets)) {}

  std::size_t count() const override { return sources_.size(); }
  std::size_t length(std::size_t example) const override {
    return sources_[example].size() + targets_[example].size();
  }
  std::size_t predictions(std::size_t example) const override { return targets_[example].size() + 1; }
  Variable<float> loss(Tape<float>& tape, const Weights<float>& weights,
                       const std::vector<std::size_t>& examples, float scale, double dropout,
                       Random* random) const override;

  const Sequences& sources() const { return sources_; }
  const Sequences& targets() const { return targets_; }

 private:
  std::shared_ptr<const TranslationModel> model_;
  Sequences sources_, targets_;
};

}  // namespace attn::train
