#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "fast/train/encoder_decoder.hpp"
#include "fast/train/transformer_translator.hpp"

namespace attn::train {

using Sequences = std::vector<std::vector<int>>;

/// The attention to the source that one head pays while the model is made to write the targets.
struct AttendingHead {
  std::string name;                                      ///< "layer 2, head 1"; empty for the only one
  std::vector<std::vector<std::vector<float>>> weights;  ///< [sample][target][source]
};

/// A model that reads a sentence and writes another one, whatever it is made of.
class TranslationModel {
 public:
  virtual ~TranslationModel() = default;

  virtual WeightTable table() const = 0;

  /// What the model is, beside its weights: "heads" "2".
  virtual std::vector<std::pair<std::string, std::string>> configuration() const = 0;

  /// Whether its decoder attends to the source.
  virtual bool attends() const = 0;

  /// scale · Σ cross-entropy of each target word and of the end, the words before it being given (teacher
  /// forcing).
  virtual Variable<float> loss(Tape<float>& tape, const Weights<float>& weights, const Sequences& sources,
                               const Sequences& targets, float scale, double dropout,
                               Random* random) const = 0;

  /// Writes the likeliest word again and again until the end, or until there are `most_words`.
  virtual Sequences translate(const Weights<float>& weights, const Sequences& sources,
                              std::size_t most_words) const = 0;

  /// Of all heads that attend to the source; none of a model that does not.
  virtual std::vector<AttendingHead> attending_heads(const Weights<float>& weights, const Sequences& sources,
                                                     const Sequences& targets) const = 0;
};

std::shared_ptr<const TranslationModel> model_of(const EncoderDecoderSizes& sizes);
std::shared_ptr<const TranslationModel> model_of(const TransformerTranslatorSizes& sizes);

/// What a decoder reads to write each sentence: the mark and all words but the last.
std::vector<std::vector<int>> words_read(const std::vector<std::vector<int>>& targets, int mark);

/// What it is to write: the words and the mark.
std::vector<std::vector<int>> words_to_write(const std::vector<std::vector<int>>& targets, int mark);

/// The word with the largest logit, the first on ties.
int likeliest(const float* logits, std::size_t words);

}  // namespace attn::train
