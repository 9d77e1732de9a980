// Tasks of a transformer that gives each position, or each sentence, one of several classes.
#include <algorithm>
#include <utility>

#include "attn/random/random.hpp"
#include "corpora/grammar.hpp"
#include "corpora/sentiment.hpp"
#include "corpora/sequences.hpp"
#include "fast/train/models.hpp"
#include "fast/train/tasks/task.hpp"

namespace attn::train {

namespace {

class LabelledTask : public Task {
 public:
  std::vector<std::pair<std::string, std::vector<std::string>>> vocabularies() const override {
    return {{"words", words_.words()}, {"classes", classes_.words()}};
  }

  std::map<std::string, std::string> configuration() const override {
    auto configuration = sizes_as_text(sizes_);
    configuration["causal"] = sizes_.is_causal ? "true" : "false";
    configuration["norm"] = sizes_.has_norm ? "post" : "none";
    configuration["class_of"] = sizes_.is_of_sentence ? "sentence" : "token";
    return configuration;
  }

 protected:
  /// Throws attn::Error for options that the sizes do not allow.
  LabelledTask(TransformerSizes sizes, const TaskOptions& options, std::vector<std::string> words,
               std::vector<std::string> classes)
      : words_(std::move(words)),
        classes_(std::move(classes)),
        sizes_(sizes),
        generator_(options.seed, drawing_examples) {
    set_sizes(sizes_, options,
              {Positions::none, Positions::sinusoidal, Positions::learned, Positions::rotary});
    sizes_.words = words_.size();
    sizes_.classes = classes_.size();
  }

  void set_examples(std::vector<Labelled> training, std::vector<Labelled> validation,
                    std::vector<Labelled> held_out) {
    set(weights_of(sizes_), examples_of(sizes_, std::move(training)),
        examples_of(sizes_, std::move(validation)));
    held_out_ = std::move(held_out);
  }

  Reading reading(const Weights<float>& weights, std::size_t i) const {
    return read(weights, sizes_, held_out_[i].input);
  }

  /// The likeliest class of each position, for all held-out examples.
  Score accuracy_of(const char* name, const Weights<float>& weights) const {
    return {name, accuracy(weights, sizes_, held_out_)};
  }

  Vocabulary words_, classes_;
  TransformerSizes sizes_;
  Generator generator_;  ///< of the examples
  std::vector<Labelled> held_out_;
};

/// How often each head's most attended key is the right one, over the queries that have a right one.
class RightKeys {
 public:
  void add(const Reading& reading, std::size_t query, std::size_t right_key) {
    ++queries_;
    right_.resize(reading.weights.size());
    for (std::size_t layer = 0; layer < right_.size(); ++layer) {
      const auto& heads = reading.weights[layer];
      right_[layer].resize(heads.size());
      for (std::size_t head = 0; head < heads.size(); ++head)
        right_[layer][head] += strongest(heads[head][query]) == right_key;
    }
  }

  /// "right key, layer 2, head 1" of the head that finds it most often.
  Score best(const std::string& name) const {
    Score score = {name, 0, queries_};
    for (std::size_t layer = 0; layer < right_.size(); ++layer)
      for (std::size_t head = 0; head < right_[layer].size(); ++head) {
        const Share share = {right_[layer][head], queries_};
        if (share.value() < score.value) continue;
        score = {name + ", layer " + std::to_string(layer + 1) + ", head " + std::to_string(head), share};
      }
    return score;
  }

 private:
  std::size_t queries_ = 0;
  std::vector<std::vector<std::size_t>> right_;  ///< [layer][head]
};

constexpr std::size_t symbols = 26;

class Induction final : public LabelledTask {
 public:
  explicit Induction(const TaskOptions& options)
      : LabelledTask({.words = 0,
                      .classes = 0,
                      .d_model = 32,
                      .heads = 1,
                      .d_k = 16,
                      .d_v = 32,
                      .layers = 2,
                      .positions = Positions::rotary,
                      .is_causal = true,
                      .has_norm = false},
                     options, corpora::symbol_labels(symbols), corpora::symbol_labels(symbols)) {
    const auto draw = [&](std::size_t count) {
      std::vector<corpora::InductionSequence> sequences;
      for (std::size_t i = 0; i < count; ++i)
        sequences.push_back(corpora::draw_induction(generator_, 24, symbols));
      return sequences;
    };
    const auto training = draw(20000);
    sequences_ = draw(500);
    set_examples(labelled(training), labelled(draw(500)), labelled(sequences_));
  }

  std::vector<Score> scores(const Weights<float>& weights) const override {
    RightKeys right_keys;
    for (std::size_t i = 0; i < sequences_.size(); ++i) {
      const auto found = reading(weights, i);
      const auto& keys = sequences_[i].right_keys;
      for (std::size_t query = 0; query < keys.size(); ++query)
        if (keys[query]) right_keys.add(found, query, *keys[query]);
    }
    return {accuracy_of("next tokens right", weights), right_keys.best("repeated token → what followed it")};
  }

  std::vector<std::string> samples(const Weights<float>& weights) const override {
    std::vector<std::string> lines;
    for (std::size_t i = 0; i < 3; ++i) {
      const auto& example = held_out_[i];
      const auto classes_read = reading(weights, i).classes;
      lines.push_back(words_.text(example.input));
      auto& written = lines.emplace_back();
      for (std::size_t t = 0; t < example.input.size(); ++t)
        written += example.targets[t] < 0 ? "· " : classes_.text({classes_read[t]});
    }
    return lines;
  }

 private:
  static std::vector<Labelled> labelled(const std::vector<corpora::InductionSequence>& sequences) {
    std::vector<Labelled> examples;
    for (const auto& [tokens, right_keys] : sequences) {
      auto& [input, targets] = examples.emplace_back();
      input.assign(tokens.begin(), tokens.end());
      for (std::size_t t = 0; t < tokens.size(); ++t)
        targets.push_back(right_keys[t] && t + 1 < tokens.size() ? input[t + 1] : -1);
    }
    return examples;
  }

  std::vector<corpora::InductionSequence> sequences_;
};

class Reverse final : public LabelledTask {
 public:
  explicit Reverse(const TaskOptions& options)
      : LabelledTask({.words = 0,
                      .classes = 0,
                      .d_model = 32,
                      .heads = 1,
                      .d_k = 16,
                      .d_v = 32,
                      .positions = Positions::learned,
                      .longest = 16,
                      .has_norm = false},
                     options, corpora::symbol_labels(symbols), corpora::symbol_labels(symbols)) {
    constexpr std::size_t usual_length = 10;
    const auto draw = [&](std::size_t count, std::size_t length) {
      std::vector<Labelled> examples;
      for (std::size_t i = 0; i < count; ++i) {
        const auto drawn = corpora::draw_reverse(generator_, length, symbols);
        examples.push_back({{drawn.begin(), drawn.end()}, {drawn.rbegin(), drawn.rend()}});
      }
      return examples;
    };
    auto training = draw(20000, usual_length), held_out = draw(500, usual_length);
    longer_ = draw(200, usual_length + 4);
    set_examples(std::move(training), draw(500, usual_length), std::move(held_out));
  }

  std::vector<Score> scores(const Weights<float>& weights) const override {
    RightKeys right_keys;
    for (std::size_t i = 0; i < held_out_.size(); ++i) {
      const auto found = reading(weights, i);
      const auto length = held_out_[i].input.size();
      for (std::size_t query = 0; query < length; ++query) right_keys.add(found, query, length - 1 - query);
    }
    return {accuracy_of("symbols right", weights),
            right_keys.best("place → its mirror image"),
            {"symbols right, 4 longer than in training", accuracy(weights, sizes_, longer_)}};
  }

  std::vector<std::string> samples(const Weights<float>& weights) const override {
    std::vector<std::string> lines;
    for (std::size_t i = 0; i < 3; ++i)
      lines.push_back(words_.text(held_out_[i].input) + "→ " + classes_.text(reading(weights, i).classes));
    return lines;
  }

 private:
  std::vector<Labelled> longer_;
};

class Sentiment final : public LabelledTask {
 public:
  Sentiment(const TaskOptions& options, const corpora::SentimentCorpus& corpus)
      : LabelledTask(
            {.words = 0, .classes = 0, .d_model = 16, .heads = 2, .d_k = 8, .d_v = 8, .is_of_sentence = true},
            options, corpus.vocabulary(), {"negative", "positive"}) {
    const auto labelled = [&](const corpora::LabelledSentence& sentence) {
      return Labelled{words_.ids(sentence.words), {sentence.is_positive ? 1 : 0}};
    };
    const auto draw_seen = [&](int count) {
      std::vector<Labelled> examples;
      for (int i = 0; i < count; ++i) examples.push_back(labelled(corpus.draw(generator_)));
      return examples;
    };
    auto training = draw_seen(20000);
    std::vector<Labelled> unseen;
    for (int i = 0; i < 1000; ++i) {
      unseen_.push_back(corpus.draw_unseen_pair(generator_));
      unseen.push_back(labelled(unseen_.back()));
    }
    set_examples(std::move(training), draw_seen(500), std::move(unseen));
  }

  std::vector<Score> scores(const Weights<float>& weights) const override {
    RightKeys negators;
    for (std::size_t i = 0; i < unseen_.size(); ++i)
      if (unseen_[i].negator)
        negators.add(reading(weights, i), unseen_[i].sentiment_word, *unseen_[i].negator);
    return {accuracy_of("unseen pairs right", weights), negators.best("sentiment word → its negator")};
  }

  std::vector<std::string> samples(const Weights<float>& weights) const override {
    std::vector<std::string> lines;
    for (std::size_t i = 0; i < 5; ++i)
      lines.push_back(words_.text(held_out_[i].input) + "→ " +
                      classes_.words()[static_cast<std::size_t>(reading(weights, i).classes[0])]);
    return lines;
  }

 private:
  std::vector<corpora::LabelledSentence> unseen_;
};

/// Forms of which a sentence allows only one, by the number of the subject.
const std::map<std::string, std::string>& other_number() {
  static const std::map<std::string, std::string> forms = {{"is", "are"},   {"are", "is"},  {"was", "were"},
                                                           {"were", "was"}, {"does", "do"}, {"do", "does"}};
  return forms;
}

constexpr const char* end_of_sentence = "</s>";

/// Stand-ins are for translators, and a writer has no use for them.
std::vector<std::string> words_of_writer(std::vector<std::string> words) {
  std::erase_if(words, corpora::is_stand_in);
  words.emplace_back(end_of_sentence);
  return words;
}

template <class Condition>
bool has_word(const corpora::SentencePair& pair, const Condition& condition) {
  return std::any_of(pair.source.begin(), pair.source.end(), condition);
}

/// Repeats the sentences in which another noun stands between a word and its subject. They are a tenth of
/// all, from which two layers seldom learn to find it: "the dogs that the boy follows do".
void repeat_long_ways(std::vector<corpora::SentencePair>& pairs) {
  constexpr std::size_t times_more = 3;
  const auto once = pairs.size();
  for (std::size_t i = 0; i < once; ++i)
    if (has_word(pairs[i], [](const corpora::SourceWord& word) { return word.nouns_between > 0; }))
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
                     options, words_of_writer(grammar.source_words()),
                     words_of_writer(grammar.source_words())) {
    auto pairs = corpora::draw_pairs(grammar, generator_, 700000, 4000, 0);
    const auto stands_in = [](const corpora::SourceWord& word) { return corpora::is_stand_in(word.text); };
    for (auto* some : {&pairs.training, &pairs.validation, &pairs.held_out})
      std::erase_if(*some, [&](const corpora::SentencePair& pair) { return has_word(pair, stands_in); });
    repeat_long_ways(pairs.training);
    held_out_pairs_ = std::move(pairs.held_out);
    set_examples(labelled(pairs.training), labelled(pairs.validation), labelled(held_out_pairs_));
  }

  std::vector<Score> scores(const Weights<float>& weights) const override {
    Share all = {0, 0}, across = {0, 0};
    RightKeys subjects;
    for (std::size_t i = 0; i < held_out_pairs_.size(); ++i)
      count_agreement(weights, i, all, across, subjects);
    std::vector<Score> scores;
    if (all.all > 0) scores.push_back({"verb agrees with its subject", all});
    if (across.all > 0) scores.push_back({"verb agrees with its subject across another noun", across});
    if (all.all > 0) scores.push_back(subjects.best("word before the verb → the subject"));
    return scores;
  }

  std::vector<std::string> samples(const Weights<float>& weights) const override {
    std::vector<std::string> lines;
    for (std::size_t i = 0; i < std::min<std::size_t>(3, held_out_pairs_.size()); ++i) {
      lines.push_back(corpora::source_text(held_out_pairs_[i]));
      lines.push_back("next: " + classes_.text(reading(weights, i).classes));
    }
    return lines;
  }

 private:
  /// Whether the verb's right form gets a larger logit than the one for the other number.
  void count_agreement(const Weights<float>& weights, std::size_t i, Share& all, Share& across,
                       RightKeys& subjects) const {
    const auto& sentence = held_out_pairs_[i].source;
    for (std::size_t t = 1; t < sentence.size(); ++t) {
      const auto other = other_number().find(sentence[t].text);
      const bool has_forms = other != other_number().end() && classes_.has(other->second);
      if (!has_forms || !sentence[t].controller || *sentence[t].controller >= t) continue;
      Tape<float> tape(false);
      const auto result = run(tape, weights, sizes_, rows_by_sample({held_out_[i].input}));
      const float* logits = result.logits.value + (t - 1) * sizes_.classes;
      const bool is_right = logits[classes_.id(sentence[t].text)] > logits[classes_.id(other->second)];
      all.count(is_right);
      if (sentence[t].nouns_between > 0) across.count(is_right);
      subjects.add(reading(weights, i), t - 1, *sentence[t].controller);
    }
  }

  std::vector<Labelled> labelled(const std::vector<corpora::SentencePair>& pairs) const {
    std::vector<Labelled> examples;
    for (const auto& pair : pairs) {
      auto& [input, targets] = examples.emplace_back();
      input = words_.ids(corpora::texts(pair.source));
      targets.assign(input.begin() + 1, input.end());  // words and classes are numbered alike
      targets.push_back(classes_.id(end_of_sentence));
    }
    return examples;
  }

  std::vector<corpora::SentencePair> held_out_pairs_;
};

}  // namespace

std::unique_ptr<Task> make_induction(const TaskOptions& options) {
  return std::make_unique<Induction>(options);
}

std::unique_ptr<Task> make_reverse(const TaskOptions& options) {
  return std::make_unique<Reverse>(options);
}

std::unique_ptr<Task> make_sentiment(const TaskOptions& options) {
  return std::make_unique<Sentiment>(options,
                                     corpora::SentimentCorpus::load(options.corpora + "/sentiment.txt"));
}

std::unique_ptr<Task> make_language(const TaskOptions& options) {
  return std::make_unique<Language>(options, corpora::Grammar::load(options.grammar_file()));
}

}  // namespace attn::train
