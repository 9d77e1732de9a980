#include <algorithm>
#include <map>

#include "attn/random/generator.hpp"
#include "corpora/grammar_pairs.hpp"
#include "fast/train/tasks/labelled_task.hpp"
#include "fast/train/tasks/load_grammar.hpp"

namespace attn::train {

namespace {

/// Gives each English word the French form that it has in its sentence, which for an article depends on the
/// noun: attention is needed just for that.
class Gloss final : public LabelledTask {
 public:
  Gloss(const TaskOptions& options, const corpora::Grammar& grammar)
      : LabelledTask({.words = 0, .classes = 0, .d_model = 64, .heads = 2, .d_k = 4, .d_v = 8}, options,
                     grammar.source_words(), grammar.glosses()) {
    Generator generator(options.seed, drawing_examples);
    auto pairs = corpora::draw_pairs(grammar, generator, 50000, 1000, 0);
    held_out_ = std::move(pairs.held_out);
    set_examples(labelled(pairs.training), labelled(pairs.validation), labelled(held_out_), entropy_weight);
  }

  std::vector<Score> scores(const Weights<float>& weights) const override {
    std::map<std::string, RightKeys> by_category;
    for (std::size_t i = 0; i < held_out_.size(); ++i) {
      const auto reading = read(weights, sizes(), held_out().all()[i].input);
      const auto& words_of = held_out_[i].source;
      for (std::size_t query = 0; query < words_of.size(); ++query) {
        const auto& word = words_of[query];
        if (!word.controller || !word.needs_controller) continue;
        const auto name = kind_of(word, query) + " → its noun";
        by_category[name].add(reading, query, *word.controller);
        if (word.nouns_between > 0)
          by_category[name + ", across another"].add(reading, query, *word.controller);
      }
    }
    std::vector<Score> scores = {{"glosses right", accuracy(weights, sizes(), held_out().all())}};
    for (const auto& [name, right_keys] : by_category) scores.push_back(right_keys.best(name));
    return scores;
  }

  std::vector<std::string> samples(const Weights<float>& weights) const override {
    std::vector<std::string> lines;
    for (std::size_t i = 0; i < std::min<std::size_t>(4, held_out_.size()); ++i) {
      std::string glosses;
      for (const int gloss : read(weights, sizes(), held_out().all()[i].input).classes)
        glosses += classes().words()[static_cast<std::size_t>(gloss)] + " ";
      lines.push_back(corpora::source_text(held_out_[i]));
      lines.push_back(glosses);
    }
    return lines;
  }

 private:
  /// "the small cat" is another task than "the cat was small".
  static std::string kind_of(const corpora::SourceWord& word, std::size_t position) {
    if (word.category != "adjective") return word.category;
    return *word.controller > position ? "adjective before" : "adjective after was";
  }

  static constexpr double entropy_weight = 0.01;

  std::vector<Labelled> labelled(const std::vector<corpora::SentencePair>& pairs) const {
    std::vector<Labelled> examples;
    for (const auto& pair : pairs) {
      Labelled example;
      for (const auto& word : pair.source) {
        example.input.push_back(words().id(word.text));
        example.targets.push_back(classes().id(word.gloss));
      }
      examples.push_back(std::move(example));
    }
    return examples;
  }

  std::vector<corpora::SentencePair> held_out_;
};

}  // namespace

std::unique_ptr<Task> make_gloss(const TaskOptions& options) {
  return std::make_unique<Gloss>(options, load_grammar(options));
}

}  // namespace attn::train
