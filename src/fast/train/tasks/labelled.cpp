// Tasks of a transformer that gives each position, or each sentence, one of several classes.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "attn/lists.hpp"
#include "attn/random/random.hpp"
#include "corpora/grammar.hpp"
#include "corpora/sentiment.hpp"
#include "corpora/sequences.hpp"
#include "fast/train/models.hpp"
#include "fast/train/tasks/task.hpp"

namespace attn::train {

namespace {

/// How often each head's most attended key is the right one, over the queries that have a right one.
class RightKeys {
 public:
  void add(const Reading& reading, std::size_t query, std::size_t right_key) {
    ++queries_;
    for (std::size_t layer = 0; layer < reading.weights.size(); ++layer)
      for (std::size_t head = 0; head < reading.weights[layer].size(); ++head)
        right_[{layer, head}] += strongest(reading.weights[layer][head][query]) == right_key;
  }

  /// "right key, layer 2, head 1" of the head that finds it most often.
  Score best(const std::string& name) const {
    Score score = {name, 0, queries_};
    for (const auto& [place, right] : right_) {
      const Share share = {right, queries_};
      if (share.value() < score.value) continue;
      score = {fmt::format("{}, layer {}, head {}", name, place.first + 1, place.second), share};
    }
    return score;
  }

 private:
  std::size_t queries_ = 0;
  std::map<std::pair<std::size_t, std::size_t>, std::size_t> right_;  ///< by layer and head
};

/// Examples, and of each the key that every query is to look at, where one is known.
struct Drawn {
  std::vector<Labelled> examples{};
  std::vector<std::vector<std::optional<std::size_t>>> right_keys{};
};

/// What the scores of a task are called, and how its samples are shown.
struct Wording {
  const char *accuracy = "", *right_keys = "";
  std::size_t samples = 3;
  const char* before_classes = nullptr;  ///< on a line below the input; behind it where null
};

class LabelledTask : public Task {
 public:
  LabelledTask(const TransformerSizes& sizes, const Vocabulary& words, const Vocabulary& classes,
               const Wording& wording, Drawn training, Drawn validation, Drawn held_out, Drawn longer = {})
      : Task({weights_of(sizes),
              examples_of(sizes, std::move(training.examples)),
              examples_of(sizes, std::move(validation.examples)),
              {{"words", words.words()}, {"classes", classes.words()}},
              configuration_of(sizes)}),
        words_(words),
        classes_(classes),
        sizes_(sizes),
        wording_(wording),
        held_out_(std::move(held_out)),
        longer_(std::move(longer)) {}

  std::vector<Score> scores(const Weights<float>& weights) const override {
    RightKeys found;
    for (std::size_t i = 0; i < held_out_.examples.size(); ++i) {
      const auto reading = read(weights, sizes_, held_out_.examples[i].input);
      const auto& keys = held_out_.right_keys[i];
      for (std::size_t query = 0; query < keys.size(); ++query)
        if (keys[query]) found.add(reading, query, *keys[query]);
    }
    std::vector<Score> scores = {{wording_.accuracy, accuracy(weights, sizes_, held_out_.examples)},
                                 found.best(wording_.right_keys)};
    if (!longer_.examples.empty())
      scores.push_back({std::string(wording_.accuracy) + ", 4 longer than in training",
                        accuracy(weights, sizes_, longer_.examples)});
    return scores;
  }

  std::vector<std::string> samples(const Weights<float>& weights) const override {
    std::vector<std::string> lines;
    for (std::size_t i = 0; i < std::min(wording_.samples, held_out_.examples.size()); ++i) {
      const auto& [input, targets] = held_out_.examples[i];
      const auto classes = read(weights, sizes_, input).classes;
      std::string answers;
      for (std::size_t t = 0; t < targets.size(); ++t)
        answers += (t > 0 ? " " : "") + (targets[t] < 0 ? "·" : classes_.text({classes[t]}));
      const auto text = words_.text(input);
      if (wording_.before_classes)
        lines.insert(lines.end(), {text, wording_.before_classes + answers});
      else
        lines.push_back(text + " → " + answers);
    }
    return lines;
  }

 protected:
  static std::map<std::string, std::string> configuration_of(const TransformerSizes& sizes) {
    auto configuration = sizes_as_text(sizes);
    configuration["causal"] = sizes.is_causal ? "true" : "false";
    configuration["norm"] = sizes.has_norm ? "post" : "none";
    configuration["class_of"] = sizes.is_of_sentence ? "sentence" : "token";
    return configuration;
  }

  Vocabulary words_, classes_;
  TransformerSizes sizes_;
  Wording wording_;
  Drawn held_out_;
  Drawn longer_;  ///< by 4 tokens than those of training
};

/// Throws attn::Error for options that the sizes do not allow.
TransformerSizes labelled_sizes(TransformerSizes sizes, const TaskOptions& options, const Vocabulary& words,
                                const Vocabulary& classes) {
  sizes.words = words.size();
  sizes.classes = classes.size();
  return chosen(sizes, options,
                {Positions::none, Positions::sinusoidal, Positions::learned, Positions::rotary});
}

constexpr std::size_t symbols = 26;

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

/// Repeats the sentences in which another noun stands between a word and its subject. They are a tenth of
/// all, from which two layers seldom learn to find it: "the dogs that the boy follows do".
void repeat_long_ways(std::vector<corpora::SentencePair>& pairs) {
  constexpr std::size_t times_more = 3;
  const auto once = pairs.size();
  for (std::size_t i = 0; i < once; ++i)
    if (any_of(pairs[i].source, [](const corpora::SourceWord& word) { return word.nouns_between > 0; }))
      pairs.insert(pairs.end(), times_more, corpora::SentencePair(pairs[i]));
}

/// Each next word of a sentence, from the words before it.
Drawn next_words(const std::vector<corpora::SentencePair>& pairs, const Vocabulary& words) {
  Drawn drawn;
  for (const auto& pair : pairs) {
    auto& [input, targets] = drawn.examples.emplace_back();
    input = words.ids(corpora::texts(pair.source));
    targets.assign(input.begin() + 1, input.end());
    targets.push_back(words.id(end_of_sentence));
  }
  return drawn;
}

/// Guesses each next word of an English sentence from the words before it.
class Language final : public LabelledTask {
 public:
  Language(const TransformerSizes& sizes, const Vocabulary& words, corpora::GrammarPairs pairs)
      : LabelledTask(sizes, words, words, {.before_classes = "next: "}, next_words(pairs.training, words),
                     next_words(pairs.validation, words), next_words(pairs.held_out, words)),
        pairs_(std::move(pairs.held_out)) {}

  std::vector<Score> scores(const Weights<float>& weights) const override {
    Share all = {0, 0}, across = {0, 0};
    RightKeys subjects;
    for (std::size_t i = 0; i < pairs_.size(); ++i)
      count_agreement(pairs_[i].source, read(weights, sizes_, held_out_.examples[i].input), all, across,
                      subjects);
    std::vector<Score> scores;
    if (all.all > 0) scores.push_back({"verb agrees with its subject", all});
    if (across.all > 0) scores.push_back({"verb agrees with its subject across another noun", across});
    if (all.all > 0) scores.push_back(subjects.best("word before the verb → the subject"));
    return scores;
  }

 private:
  /// Whether the verb's right form gets a larger logit than the one for the other number.
  void count_agreement(const std::vector<corpora::SourceWord>& sentence, const Reading& reading, Share& all,
                       Share& across, RightKeys& subjects) const {
    for (std::size_t t = 1; t < sentence.size(); ++t) {
      const auto* other = value_in(other_number(), sentence[t].text);
      if (!other || !classes_.has(*other) || !sentence[t].controller || *sentence[t].controller >= t)
        continue;
      const auto logit_of = [&](const std::string& word) {
        return reading.logits[t - 1][static_cast<std::size_t>(classes_.id(word))];
      };
      const bool is_right = logit_of(sentence[t].text) > logit_of(*other);
      all.count(is_right);
      if (sentence[t].nouns_between > 0) across.count(is_right);
      subjects.add(reading, t - 1, *sentence[t].controller);
    }
  }

  std::vector<corpora::SentencePair> pairs_;  ///< held out
};

}  // namespace

std::unique_ptr<Task> make_induction(const TaskOptions& options) {
  const Vocabulary words(corpora::symbol_labels(symbols));
  const auto sizes = labelled_sizes({.d_model = 32,
                                     .heads = 1,
                                     .d_k = 16,
                                     .d_v = 32,
                                     .layers = 2,
                                     .positions = Positions::rotary,
                                     .is_causal = true,
                                     .has_norm = false},
                                    options, words, words);
  Generator generator(options.seed, drawing_examples);
  const auto draw = [&](std::size_t count) {
    Drawn drawn;
    for (std::size_t i = 0; i < count; ++i) {
      const auto sequence = corpora::draw_induction(generator, 24, symbols);
      auto& [input, targets] = drawn.examples.emplace_back();
      input.assign(sequence.tokens.begin(), sequence.tokens.end());
      for (std::size_t t = 0; t < input.size(); ++t)
        targets.push_back(sequence.right_keys[t] && t + 1 < input.size() ? input[t + 1] : -1);
      drawn.right_keys.push_back(sequence.right_keys);
    }
    return drawn;
  };
  auto training = draw(20000), held_out = draw(500), validation = draw(500);
  return std::make_unique<LabelledTask>(sizes, words, words,
                                        Wording{.accuracy = "next tokens right",
                                                .right_keys = "repeated token → what followed it",
                                                .before_classes = ""},
                                        std::move(training), std::move(validation), std::move(held_out));
}

std::unique_ptr<Task> make_reverse(const TaskOptions& options) {
  constexpr std::size_t usual_length = 10;
  const Vocabulary words(corpora::symbol_labels(symbols));
  const auto sizes = labelled_sizes({.d_model = 32,
                                     .heads = 1,
                                     .d_k = 16,
                                     .d_v = 32,
                                     .positions = Positions::learned,
                                     .longest = 16,
                                     .has_norm = false},
                                    options, words, words);
  Generator generator(options.seed, drawing_examples);
  const auto draw = [&](std::size_t count, std::size_t length) {
    Drawn drawn;
    for (std::size_t i = 0; i < count; ++i) {
      const auto sequence = corpora::draw_reverse(generator, length, symbols);
      drawn.examples.push_back({{sequence.begin(), sequence.end()}, {sequence.rbegin(), sequence.rend()}});
      auto& mirrored = drawn.right_keys.emplace_back();
      for (std::size_t query = 0; query < length; ++query) mirrored.push_back(length - 1 - query);
    }
    return drawn;
  };
  auto training = draw(20000, usual_length), held_out = draw(500, usual_length),
       longer = draw(200, usual_length + 4), validation = draw(500, usual_length);
  return std::make_unique<LabelledTask>(
      sizes, words, words, Wording{.accuracy = "symbols right", .right_keys = "place → its mirror image"},
      std::move(training), std::move(validation), std::move(held_out), std::move(longer));
}

std::unique_ptr<Task> make_sentiment(const TaskOptions& options) {
  const auto corpus = corpora::SentimentCorpus::load(options.corpora + "/sentiment.txt");
  const Vocabulary words(corpus.vocabulary()), classes({"negative", "positive"});
  const auto sizes = labelled_sizes({.d_model = 16, .heads = 2, .d_k = 8, .d_v = 8, .is_of_sentence = true},
                                    options, words, classes);
  Generator generator(options.seed, drawing_examples);
  const auto draw = [&](int count, bool is_unseen) {
    Drawn drawn;
    for (int i = 0; i < count; ++i) {
      const auto sentence = is_unseen ? corpus.draw_unseen_pair(generator) : corpus.draw(generator);
      drawn.examples.push_back({words.ids(sentence.words), {sentence.is_positive ? 1 : 0}});
      drawn.right_keys.emplace_back(sentence.words.size())[sentence.sentiment_word] = sentence.negator;
    }
    return drawn;
  };
  auto training = draw(20000, false), held_out = draw(1000, true), validation = draw(500, false);
  return std::make_unique<LabelledTask>(
      sizes, words, classes,
      Wording{.accuracy = "unseen pairs right", .right_keys = "sentiment word → its negator", .samples = 5},
      std::move(training), std::move(validation), std::move(held_out));
}

std::unique_ptr<Task> make_language(const TaskOptions& options) {
  const auto grammar = corpora::Grammar::load(options.grammar_file());
  const Vocabulary words(words_of_writer(grammar.source_words()));
  const auto sizes = labelled_sizes({.d_model = 64,
                                     .heads = 4,
                                     .d_k = 16,
                                     .d_v = 16,
                                     .layers = 2,
                                     .is_causal = true,
                                     .has_norm = false,
                                     .has_output_bias = false},
                                    options, words, words);
  Generator generator(options.seed, drawing_examples);
  auto pairs = corpora::draw_pairs(grammar, generator, 700000, 4000, 0);
  const auto stands_in = [](const corpora::SourceWord& word) { return corpora::is_stand_in(word.text); };
  for (auto* some : {&pairs.training, &pairs.validation, &pairs.held_out})
    std::erase_if(*some, [&](const corpora::SentencePair& pair) { return any_of(pair.source, stands_in); });
  repeat_long_ways(pairs.training);
  return std::make_unique<Language>(sizes, words, std::move(pairs));
}

}  // namespace attn::train
