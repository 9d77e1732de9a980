#include <algorithm>
#include <map>

#include "attn/random/generator.hpp"
#include "corpora/grammar_pairs.hpp"
#include "fast/train/tasks/labelled_task.hpp"
#include "fast/train/tasks/translation_task.hpp"

namespace attn::train {

namespace {

/// Forms of which a sentence allows only one, by the number of the subject.
const std::map<std::string, std::string>& other_number() {
  static const std::map<std::string, std::string> forms = {{"is", "are"},   {"are", "is"},  {"was", "were"},
                                                           {"were", "was"}, {"does", "do"}, {"do", "does"}};
  return forms;
}

/// Stand-ins are for translators, and a writer has no use for them.
std::vector<std::string> words_to_write(std::vector<std::string> words) {
  std::erase_if(words, corpora::is_stand_in);
  words.emplace_back("</s>");
  return words;
}

void erase_stand_ins(std::vector<corpora::SentencePair>& pairs) {
  std::erase_if(pairs, [](const corpora::SentencePair& pair) {
    return std::any_of(pair.source.begin(), pair.source.end(),
                       [](const corpora::SourceWord& word) { return corpora::is_stand_in(word.text); });
  });
}

/// Repeats the sentences in which another noun stands between a word and its subject. They are a tenth of
/// all, from which two layers seldom learn to find it: "the dogs that the boy follows do".
void repeat_long_ways(std::vector<corpora::SentencePair>& pairs) {
  constexpr std::size_t times_more = 3;
  const auto once = pairs.size();
  for (std::size_t i = 0; i < once; ++i)
    if (std::any_of(pairs[i].source.begin(), pairs[i].source.end(),
                    [](const corpora::SourceWord& word) { return word.nouns_between > 0; }))
      pairs.insert(pairs.end(), times_more, corpora::SentencePair(pairs[i]));
}

/// Guesses each next word of an English sentence from the words before it.
class Language final : public LabelledTask {
 public:
  Language(const TaskOptions& options, const corpora::Grammar& grammar)
      : LabelledTask({.words = 0,
                      .classes = 0,
                      .d_model = 64,
                      .heads = 4,
                      .d_k = 16,
                      .d_v = 16,
                      .layers = 2,
                      .is_causal = true,
                      .has_norm = false,
                      .has_output_bias = false},
                     options, words_to_write(grammar.source_words()),
                     words_to_write(grammar.source_words())) {
    Generator generator(options.seed, drawing_examples);
    auto pairs = corpora::draw_pairs(grammar, generator, 700000, 4000, 0);
    for (auto* some : {&pairs.training, &pairs.validation, &pairs.held_out}) erase_stand_ins(*some);
    repeat_long_ways(pairs.training);
    held_out_ = std::move(pairs.held_out);
    set_examples(labelled(pairs.training), labelled(pairs.validation), labelled(held_out_));
  }

  std::vector<Score> scores(const Weights<float>& weights) const override {
    Share all = {0, 0}, across = {0, 0};
    RightKeys subjects;
    for (std::size_t i = 0; i < held_out_.size(); ++i) count_agreement(weights, i, all, across, subjects);
    std::vector<Score> scores;
    if (all.all > 0) scores.push_back({"verb agrees with its subject", all});
    if (across.all > 0) scores.push_back({"verb agrees with its subject across another noun", across});
    if (all.all > 0) scores.push_back(subjects.best("word before the verb → the subject"));
    return scores;
  }

  std::vector<std::string> samples(const Weights<float>& weights) const override {
    std::vector<std::string> lines;
    for (std::size_t i = 0; i < std::min<std::size_t>(3, held_out_.size()); ++i) {
      std::string guesses;
      for (const int word : read(weights, sizes(), held_out().all()[i].input).classes)
        guesses += classes().words()[static_cast<std::size_t>(word)] + " ";
      lines.push_back(corpora::source_text(held_out_[i]));
      lines.push_back("next: " + guesses);
    }
    return lines;
  }

 private:
  /// Whether the verb's right form gets a larger logit than the one for the other number.
  void count_agreement(const Weights<float>& weights, std::size_t i, Share& all, Share& across,
                       RightKeys& subjects) const {
    const auto& sentence = held_out_[i].source;
    for (std::size_t t = 1; t < sentence.size(); ++t) {
      const auto other = other_number().find(sentence[t].text);
      const bool has_forms = other != other_number().end() && classes().has(other->second);
      if (!has_forms || !sentence[t].controller || *sentence[t].controller >= t) continue;
      Tape<float> tape(false);
      const auto result = run(tape, weights, sizes(), rows_by_sample({held_out().all()[i].input}));
      const float* logits = result.logits.value + (t - 1) * sizes().classes;
      const bool is_right = logits[classes().id(sentence[t].text)] > logits[classes().id(other->second)];
      const auto count = [&](Share& agreement) {
        ++agreement.all;
        agreement.right += is_right;
      };
      count(all);
      if (sentence[t].nouns_between > 0) count(across);
      subjects.add(read(weights, sizes(), held_out().all()[i].input), t - 1, *sentence[t].controller);
    }
  }

  std::vector<Labelled> labelled(const std::vector<corpora::SentencePair>& pairs) const {
    std::vector<Labelled> examples;
    for (const auto& pair : pairs) {
      Labelled example;
      for (std::size_t t = 0; t < pair.source.size(); ++t) {
        example.input.push_back(words().id(pair.source[t].text));
        example.targets.push_back(t + 1 < pair.source.size() ? classes().id(pair.source[t + 1].text)
                                                             : classes().id("</s>"));
      }
      examples.push_back(std::move(example));
    }
    return examples;
  }

  std::vector<corpora::SentencePair> held_out_;
};

}  // namespace

std::unique_ptr<Task> make_language(const TaskOptions& options) {
  return std::make_unique<Language>(options, load_grammar(options));
}

}  // namespace attn::train
