#pragma once

#include "fast/train/examples.hpp"
#include "fast/train/tasks/task.hpp"

namespace attn::train {

/// A task of an EncoderDecoder: a sentence in, a sentence out.
class TranslationTask : public TaskOf<TranslationExamples> {
 public:
  /// Throws attn::Error for options that the sizes do not allow.
  TranslationTask(EncoderDecoderSizes sizes, const TaskOptions& options,
                  std::vector<std::string> source_words, std::vector<std::string> target_words);

  std::vector<std::pair<std::string, std::vector<std::string>>> vocabularies() const override;
  std::vector<std::pair<std::string, std::string>> configuration() const override;

 protected:
  const EncoderDecoderSizes& sizes() const { return sizes_; }
  const Vocabulary& source_words() const { return source_words_; }
  const Vocabulary& target_words() const { return target_words_; }
  /// Share of the sentences that are written without a mistake.
  double exact(const Weights<float>& weights, const TranslationExamples& examples) const;

 private:
  Vocabulary source_words_, target_words_;
  EncoderDecoderSizes sizes_;
};

/// What the model writes for all sources, some at a time.
std::vector<Translation> translate_all(const Weights<float>& weights, const EncoderDecoderSizes& sizes,
                                       const std::vector<std::vector<int>>& sources, std::size_t most_words);

}  // namespace attn::train
