#pragma once

#include "fast/train/examples.hpp"
#include "fast/train/tasks/task.hpp"

namespace attn::train {

/// A task of a transformer that gives each position, or each sentence, one of several classes.
class LabelledTask : public TaskOf<LabelledExamples> {
 public:
  /// Throws attn::Error for options that the sizes do not allow.
  LabelledTask(TransformerSizes sizes, const TaskOptions& options, std::vector<std::string> words,
               std::vector<std::string> classes);

  std::vector<std::pair<std::string, std::vector<std::string>>> vocabularies() const override;
  std::vector<std::pair<std::string, std::string>> configuration() const override;

 protected:
  const TransformerSizes& sizes() const { return sizes_; }
  const Vocabulary& words() const { return words_; }
  const Vocabulary& classes() const { return classes_; }
  void set_examples(std::vector<Labelled> training, std::vector<Labelled> validation,
                    std::vector<Labelled> held_out, double entropy_weight = 0);

 private:
  Vocabulary words_, classes_;
  TransformerSizes sizes_;
};

/// How often each head's most attended key is the right one, over the queries that have a right one.
class RightKeys {
 public:
  void add(const Reading& reading, std::size_t query, std::size_t right_key);

  /// "right key, layer 2, head 1" of the head that finds it most often.
  Score best(const std::string& name) const;

 private:
  std::size_t queries_ = 0;
  std::vector<std::vector<std::size_t>> right_;  ///< [layer][head]
};

}  // namespace attn::train
