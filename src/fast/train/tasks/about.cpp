#include <algorithm>

#include "attn/error.hpp"
#include "attn/random/generator.hpp"
#include "fast/train/about_model.hpp"
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
class About final : public TaskOf<AboutExamples> {
 public:
  explicit About(const TaskOptions& options)
      : lexicon_(options.lexicon), names_(english::names_of_features(lexicon_)) {
    sizes_.features = names_.size();
    Generator generator(options.seed, drawing_examples);
    const english::AboutGrammar known(lexicon_, is_trained_on), unseen(lexicon_, is_held_out);
    auto training = draw(known, generator, 120000), validation = draw(known, generator, 500);
    for (int i = 0; i < 2000; ++i) sentences_.push_back(unseen.draw(generator));
    std::vector<AboutExample> held_out;
    for (const auto& sentence : sentences_) held_out.push_back(example(sentence));
    set(weights_of(sizes_), {sizes_, std::move(training)}, {sizes_, std::move(validation)},
        {sizes_, std::move(held_out)});
  }

  std::vector<Score> scores(const Weights<float>& weights) const override {
    Share named = {0, 0}, looks = {0, 0}, causal = {0, 0};
    double weight = 0;
    for (const auto& one : held_out().all()) {
      const auto reading = read(weights, sizes_, one), under_mask = read(weights, sizes_, one, true);
      for (std::size_t query = 0; query < one.about.size(); ++query) {
        const auto right = one.about[query];
        ++named.all;
        named.right += reading.named[query] == right;
        looks.right += strongest(reading, query) == right;
        causal.right += strongest(under_mask, query) == std::min(right, query);
        weight += static_cast<double>(reading.looks[query][right]);
      }
    }
    looks.all = causal.all = named.all;
    return {{"looks at the right word", looks},
            {"names the right word", named},
            {"weight on the right word", weight / static_cast<double>(named.all), named.all},
            {"looks at the right word, causal", causal}};
  }

  std::vector<std::string> samples(const Weights<float>& weights) const override {
    std::vector<std::string> lines;
    for (std::size_t i = 0; i < 4; ++i) {
      const auto& words = sentences_[i].words;
      const auto reading = read(weights, sizes_, held_out().all()[i]);
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

  std::vector<std::pair<std::string, std::string>> configuration() const override {
    const auto number = [](std::size_t value) { return std::to_string(value); };
    return {{"d_model", number(sizes_.second.d_model)},
            {"layer=1/heads", number(sizes_.first.heads)},
            {"heads", number(sizes_.second.heads)},
            {"d_k", number(sizes_.second.d_k)},
            {"d_v", number(sizes_.second.d_v)},
            {"d_ff", number(sizes_.second.d_ff)},
            {"layers", "2"},
            {"layer=1/positions", name_of(sizes_.first.positions)},
            {"norm", "post"}};
  }

 private:
  static std::size_t strongest(const AboutReading& reading, std::size_t query) {
    const auto& row = reading.looks[query];
    return static_cast<std::size_t>(std::max_element(row.begin(), row.end()) - row.begin());
  }

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
  for (const auto& [size, flag] : {std::pair(options.d_model, "d-model"), std::pair(options.heads, "heads"),
                                   std::pair(options.d_k, "d-k"), std::pair(options.d_v, "d-v"),
                                   std::pair(options.d_ff, "d-ff"), std::pair(options.layers, "layers"),
                                   std::pair(options.hidden, "hidden"), std::pair(options.d_a, "d-a")})
    refuse_if(size.has_value(), flag);
  return std::make_unique<About>(options);
}

}  // namespace attn::train
