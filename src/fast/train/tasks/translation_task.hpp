#pragma once

#include "corpora/grammar.hpp"
#include "fast/train/examples.hpp"
#include "fast/train/tasks/task.hpp"

namespace attn::train {

/// A task of a model that reads a sentence and writes one.
class TranslationTask : public TaskOf<TranslationExamples> {
 public:
  /// `recurrent` are the sizes of the two LSTMs, where the options ask for no transformer; the words are
  /// filled in. Throws attn::Error for options that the model does not allow.
  TranslationTask(const EncoderDecoderSizes& recurrent, const TaskOptions& options,
                  std::vector<std::string> source_words, std::vector<std::string> target_words);

  std::vector<std::pair<std::string, std::vector<std::string>>> vocabularies() const override;
  std::vector<std::pair<std::string, std::string>> configuration() const override;

 protected:
  const std::shared_ptr<const TranslationModel>& model() const { return model_; }
  const Vocabulary& source_words() const { return source_words_; }
  const Vocabulary& target_words() const { return target_words_; }

  /// What the model writes for all sources, some at a time.
  Sequences translate(const Weights<float>& weights, const Sequences& sources, std::size_t most_words) const;

  /// Of each example whether it is written without a mistake.
  std::vector<bool> exact(const Weights<float>& weights, const TranslationExamples& examples) const;

 private:
  Vocabulary source_words_, target_words_;
  std::shared_ptr<const TranslationModel> model_;
};

/// The share of what holds.
Share share_of(const std::vector<bool>& holds);

/// The grammar that the options name, else the lab's own.
corpora::Grammar load_grammar(const TaskOptions& options);

}  // namespace attn::train
