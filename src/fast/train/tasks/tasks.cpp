#include <algorithm>

#include "attn/error.hpp"
#include "attn/random/random.hpp"
#include "fast/train/about_model.hpp"
#include "fast/train/models.hpp"
#include "fast/train/tasks/task.hpp"

namespace attn::train {

namespace {

bool is_held_out(const std::string& word) {
  return crc32(word) % 5 == 0;
}

bool is_trained_on(const std::string& word) {
  return !is_held_out(word);
}

/// For each word of a sentence, which one it is about. One noun, verb and adjective in five is in no sentence
/// that is trained on: the held-out sentences are made of these.
class About final : public Task {
 public:
  explicit About(const TaskOptions& options)
      : lexicon_(options.lexicon), names_(english::names_of_features(lexicon_)) {
    sizes_.features = names_.size();
    Generator generator(options.seed, drawing_examples);
    const english::AboutGrammar known(lexicon_, is_trained_on), unseen(lexicon_, is_held_out);
    auto training = draw(known, generator, 120000), validation = draw(known, generator, 500);
    for (int i = 0; i < 2000; ++i) sentences_.push_back(unseen.draw(generator));
    for (const auto& sentence : sentences_) held_out_.push_back(example(sentence));
    set(weights_of(sizes_), examples_of(sizes_, std::move(training)),
        examples_of(sizes_, std::move(validation)));
  }

  std::vector<Score> scores(const Weights<float>& weights) const override {
    Share named = {0, 0}, looks = {0, 0}, causal = {0, 0};
    double weight = 0;
    for (const auto& one : held_out_) {
      const auto reading = read(weights, sizes_, one), under_mask = read(weights, sizes_, one, true);
      for (std::size_t query = 0; query < one.about.size(); ++query) {
        const auto right = one.about[query];
        named.count(reading.named[query] == right);
        looks.count(strongest(reading.looks[query]) == right);
        causal.count(strongest(under_mask.looks[query]) == std::min(right, query));
        weight += static_cast<double>(reading.looks[query][right]);
      }
    }
    return {{"looks at the right word", looks},
            {"names the right word", named},
            {"weight on the right word", weight / static_cast<double>(named.all), named.all},
            {"looks at the right word, causal", causal}};
  }

  std::vector<std::string> samples(const Weights<float>& weights) const override {
    std::vector<std::string> lines;
    for (std::size_t i = 0; i < 4; ++i) {
      const auto& words = sentences_[i].words;
      const auto reading = read(weights, sizes_, held_out_[i]);
      std::string sentence, answers;
      for (std::size_t query = 0; query < words.size(); ++query) {
        sentence += words[query] + " ";
        if (reading.named[query] != query)
          answers += words[query] + " → " + words[reading.named[query]] + "  ";
      }
      lines.push_back(sentence);
      lines.push_back(answers);
    }
    return lines;
  }

  std::vector<std::pair<std::string, std::vector<std::string>>> vocabularies() const override {
    return {{"features", names_}};
  }

  std::map<std::string, std::string> configuration() const override {
    auto configuration = sizes_as_text(sizes_.second);
    configuration.erase("positions");
    configuration["layers"] = "2";
    configuration["layer=1/heads"] = std::to_string(sizes_.first.heads);
    configuration["layer=1/positions"] = name_of(sizes_.first.positions);
    configuration["norm"] = "post";
    return configuration;
  }

 private:
  AboutExample example(const english::AboutSentence& sentence) const {
    return about_example(english::features_of(lexicon_, sentence.words), names_, sentence.about);
  }

  std::vector<AboutExample> draw(const english::AboutGrammar& grammar, Random& random,
                                 std::size_t count) const {
    std::vector<AboutExample> examples;
    for (std::size_t i = 0; i < count; ++i) examples.push_back(example(grammar.draw(random)));
    return examples;
  }

  english::Lexicon lexicon_;
  std::vector<std::string> names_;
  AboutSizes sizes_;
  std::vector<english::AboutSentence> sentences_;  ///< held out
  std::vector<AboutExample> held_out_;             ///< the same as numbers
};

}  // namespace

std::unique_ptr<Task> make_about(const TaskOptions& options) {
  const auto refuse_if = [](bool is_given, const char* flag) {
    if (is_given)
      throw Error(std::string("--") + flag +
                  " does not concern the task about, whose model and grammar are fixed; "
                  "valid: without it");
  };
  refuse_if(options.grammar.has_value(), "grammar");
  refuse_if(options.attention.has_value(), "attention");
  refuse_if(options.positions.has_value(), "positions");
  for (const auto* flag : {"d-model", "heads", "d-k", "d-v", "d-ff", "layers", "hidden", "d-a"})
    refuse_if(options.sizes.count(flag) > 0, flag);
  return std::make_unique<About>(options);
}

const std::vector<TaskEntry>& tasks() {
  static const std::vector<TaskEntry> all = {
      {"translation",
       "English sentences into French, by two LSTMs with attention or by a transformer",
       {.steps = 12000, .batch = 64, .rate = 8e-3, .warm_up = 200, .table_deviation = 0.3},
       make_translation,
       Settings{.steps = 12000, .batch = 64, .rate = 4e-3, .warm_up = 250, .table_deviation = 0.3}},
      {"about",
       "for each word of any English sentence the one that it is about",
       {.steps = 30000, .batch = 64, .rate = 3e-3, .warm_up = 500, .table_deviation = 0.3},
       make_about},
      {"language",
       "the next word of an English sentence: verbs agree with their subjects",
       {.steps = 12000, .batch = 64, .rate = 6e-3, .warm_up = 600},
       make_language},
      {"sentiment",
       "is a sentence positive or negative, with not, never, hardly and but?",
       {.steps = 2000,
        .batch = 64,
        .rate = 4e-3,
        .warm_up = 100,
        .weight_decay = 0.2,
        .table_deviation = 0.1},
       make_sentiment},
      {"dates",
       "dates as people write them into ISO 8601, character by character",
       {.steps = 1500, .batch = 32, .rate = 1.6e-2, .warm_up = 75, .dropout = 0.1},
       make_dates,
       Settings{.steps = 1500, .batch = 32, .rate = 4e-3, .warm_up = 75, .table_deviation = 0.3}},
      {"induction",
       "what followed this token the last time? Two layers find out, one cannot",
       {.steps = 550, .batch = 64, .rate = 8e-3, .warm_up = 28},
       make_induction},
      {"reverse",
       "a sequence backwards: attention by place alone",
       {.steps = 200, .batch = 64, .rate = 8e-3, .warm_up = 10},
       make_reverse}};
  return all;
}

}  // namespace attn::train
