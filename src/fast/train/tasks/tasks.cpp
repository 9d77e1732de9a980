#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>

#include "attn/error.hpp"
#include "attn/random/random.hpp"
#include "fast/train/about_model.hpp"
#include "fast/train/models.hpp"
#include "fast/train/tasks/task.hpp"

namespace attn::train {

TransformerSizes chosen(TransformerSizes sizes, const TaskOptions& options,
                        const std::vector<Positions>& valid_positions) {
  options.set("d-model", sizes.d_model);
  options.set("heads", sizes.heads);
  options.set("d-k", sizes.d_k);
  options.set("d-v", sizes.d_v);
  options.set("d-ff", sizes.d_ff);
  options.set("layers", sizes.layers);
  if (options.positions) sizes.positions = positions_of(*options.positions, valid_positions);
  if (sizes.positions == Positions::rotary && sizes.d_k % 2 == 1)
    throw Error("--d-k " + std::to_string(sizes.d_k) + ": rotary positions turn pairs, so it must be even");
  return sizes;
}

namespace {

bool is_held_out(const std::string& word) {
  return crc32(word) % 5 == 0;
}

/// A sentence, and the same as numbers.
struct SentenceAbout {
  std::vector<std::string> words;
  AboutExample example;
};

std::map<std::string, std::string> configuration_of(const AboutSizes& sizes) {
  auto configuration = sizes_as_text(sizes.second);
  configuration.erase("positions");
  configuration["layers"] = "2";
  configuration["layer=1/heads"] = std::to_string(sizes.first.heads);
  configuration["layer=1/positions"] = name_of(sizes.first.positions);
  configuration["norm"] = "post";
  return configuration;
}

/// For each word of a sentence, which one it is about. One noun, verb and adjective in five is in no sentence
/// that is trained on: the held-out sentences are made of these.
class About final : public Task {
 public:
  About(const AboutSizes& sizes, const std::vector<std::string>& features, std::vector<AboutExample> training,
        std::vector<AboutExample> validation, std::vector<SentenceAbout> held_out)
      : Task({weights_of(sizes),
              examples_of(sizes, std::move(training)),
              examples_of(sizes, std::move(validation)),
              {{"features", features}},
              configuration_of(sizes)}),
        sizes_(sizes),
        held_out_(std::move(held_out)) {}

  std::vector<Score> scores(const Weights<float>& weights) const override {
    Share named = {0, 0}, looks = {0, 0}, causal = {0, 0};
    double weight = 0;
    for (const auto& [words, one] : held_out_) {
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
      const auto& [words, example] = held_out_[i];
      const auto named = read(weights, sizes_, example).named;
      std::vector<std::string> answers;
      for (std::size_t query = 0; query < words.size(); ++query)
        if (named[query] != query) answers.push_back(words[query] + " → " + words[named[query]]);
      lines.push_back(fmt::format("{}", fmt::join(words, " ")));
      lines.push_back(fmt::format("{}", fmt::join(answers, "  ")));
    }
    return lines;
  }

 private:
  AboutSizes sizes_;
  std::vector<SentenceAbout> held_out_;
};

}  // namespace

std::unique_ptr<Task> make_about(const TaskOptions& options) {
  const auto refuse = [](const std::string& flag) {
    throw Error("--" + flag +
                " does not concern the task about, whose model and grammar are fixed; valid: without it");
  };
  if (options.positions) refuse("positions");
  if (!options.sizes.empty()) refuse(options.sizes.begin()->first);
  const english::Lexicon lexicon(options.lexicon);
  const auto features = english::names_of_features(lexicon);
  const english::AboutGrammar known(lexicon, std::not_fn(is_held_out)), unseen(lexicon, is_held_out);
  Generator generator(options.seed, drawing_examples);
  const auto draw = [&](const english::AboutGrammar& grammar) {
    const auto sentence = grammar.draw(generator);
    return SentenceAbout{sentence.words, about_example(english::features_of(lexicon, sentence.words),
                                                       features, sentence.about)};
  };
  std::vector<AboutExample> training, validation;
  std::vector<SentenceAbout> held_out;
  for (int i = 0; i < 120000; ++i) training.push_back(draw(known).example);
  for (int i = 0; i < 500; ++i) validation.push_back(draw(known).example);
  for (int i = 0; i < 2000; ++i) held_out.push_back(draw(unseen));
  return std::make_unique<About>(AboutSizes{.features = features.size()}, features, std::move(training),
                                 std::move(validation), std::move(held_out));
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
