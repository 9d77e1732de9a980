// Tasks of a model that reads a sentence and writes one.
#include <algorithm>
#include <map>
#include <numeric>
#include <unordered_set>
#include <utility>

#include "attn/error.hpp"
#include "attn/random/random.hpp"
#include "corpora/grammar.hpp"
#include "corpora/sentence_pair.hpp"
#include "corpora/sequences.hpp"
#include "fast/train/models.hpp"
#include "fast/train/tasks/task.hpp"

namespace attn::train {

namespace {

constexpr const char* transformer = "transformer";

DecoderAttention attention_of(const std::string& name) {
  std::string known;
  for (const auto attention : {DecoderAttention::bahdanau, DecoderAttention::bahdanau_input,
                               DecoderAttention::luong_general, DecoderAttention::none}) {
    if (name_of(attention) == name) return attention;
    known += name_of(attention) + ", ";
  }
  throw Error("--attention: there is no attention \"" + name + "\"; valid: " + known + transformer);
}

void refuse_sizes(const TaskOptions& options, std::initializer_list<const char*> flags,
                  const std::string& attention) {
  for (const auto* flag : flags)
    if (options.sizes.count(flag) > 0 || (flag == std::string("positions") && options.positions))
      throw Error(
          std::string("--") + flag + " does not concern --attention " + attention +
          (attention == transformer ? ", which has no LSTM" : "; valid: with --attention transformer"));
}

/// `recurrent` are the sizes of the two LSTMs, where the options ask for no transformer; the words are filled
/// in. Throws attn::Error for options that the model does not allow.
TranslatorSizes translator_sizes(EncoderDecoderSizes recurrent, const TaskOptions& options,
                                 const Vocabulary& source_words, const Vocabulary& target_words) {
  if (options.attention == transformer) {
    TransformerTranslatorSizes sizes = {source_words.size(), target_words.size()};
    refuse_sizes(options, {"hidden", "d-a"}, transformer);
    sizes.blocks = chosen(sizes.blocks, options, {Positions::none, Positions::sinusoidal, Positions::rotary});
    if (sizes.blocks.d_ff == 0)
      throw Error("--d-ff 0: the blocks of a translator have such a network; valid: 1 or more");
    return sizes;
  }
  recurrent.source_words = source_words.size();
  recurrent.target_words = target_words.size();
  const auto name = options.attention.value_or(name_of(recurrent.attention));
  recurrent.attention = attention_of(name);
  refuse_sizes(options, {"positions", "heads", "d-k", "d-v", "d-ff", "layers"}, name);
  options.set("d-model", recurrent.d_model);
  options.set("hidden", recurrent.hidden);
  options.set("d-a", recurrent.d_a);
  return recurrent;
}

/// The vocabulary of an output, with the mark that ends a sentence, or of what is read, with the one that
/// begins it.
std::vector<std::string> marked(std::vector<std::string> words, const char* mark) {
  words.emplace_back(mark);
  return words;
}

/// The share of what holds.
Share share_of(const std::vector<bool>& holds) {
  const auto right = std::count(holds.begin(), holds.end(), true);
  return {static_cast<std::size_t>(right), holds.size()};
}

struct TranslationParts {
  TranslatorSizes sizes;
  Vocabulary source_words, target_words;
  Translations training, validation, held_out;
  Translations longer{};  ///< than those of training
};

class TranslationTask : public Task {
 protected:
  explicit TranslationTask(TranslationParts parts)
      : Task({weights_of(parts.sizes),
              examples_of(parts.sizes, std::move(parts.training)),
              examples_of(parts.sizes, std::move(parts.validation)),
              {{"source_words", parts.source_words.words()},
               {"target_words", marked(parts.target_words.words(), "<s>")},
               {"output_words", marked(parts.target_words.words(), "</s>")}},
              configuration_of(parts.sizes)}),
        sizes_(parts.sizes),
        target_words_(std::move(parts.target_words)),
        held_out_(std::move(parts.held_out)),
        longer_(std::move(parts.longer)) {}

  /// What the model writes for all sources, some at a time.
  Sequences translate(const Weights<float>& weights, const Sequences& sources, std::size_t most_words) const {
    constexpr std::size_t at_once = 100;
    Sequences all;
    for (std::size_t first = 0; first < sources.size(); first += at_once) {
      const std::size_t end = std::min(first + at_once, sources.size());
      const Sequences some(sources.data() + first, sources.data() + end);
      for (auto& words : train::translate(weights, sizes_, some, most_words)) all.push_back(std::move(words));
    }
    return all;
  }

  /// Of each example whether it is written without a mistake.
  std::vector<bool> exact(const Weights<float>& weights, const Translations& examples) const {
    std::size_t longest = 0;
    for (const auto& target : examples.targets) longest = std::max(longest, target.size());
    const auto written = translate(weights, examples.sources, longest + 5);
    std::vector<bool> is_exact;
    for (std::size_t i = 0; i < written.size(); ++i) is_exact.push_back(written[i] == examples.targets[i]);
    return is_exact;
  }

  /// What the model writes for the first held-out examples.
  Sequences first_translations(const Weights<float>& weights, std::size_t count,
                               std::size_t most_words) const {
    const auto* const first = held_out_.sources.data();
    return translate(weights, {first, first + std::min(held_out_.sources.size(), count)}, most_words);
  }

  std::vector<AttendingHead> heads(const Weights<float>& weights) const {
    return attending_heads(weights, sizes_, held_out_.sources, held_out_.targets);
  }

  TranslatorSizes sizes_;
  Vocabulary target_words_;
  Translations held_out_, longer_;
};

/// The words of each pair, as `source` and `target` give them.
template <class Pair, class Source, class Target>
Translations translations_of(const std::vector<Pair>& pairs, const Vocabulary& source_words,
                             const Source& source, const Vocabulary& target_words, const Target& target) {
  Translations translations;
  for (const auto& pair : pairs) {
    translations.sources.push_back(source_words.ids(source(pair)));
    translations.targets.push_back(target_words.ids(target(pair)));
  }
  return translations;
}

std::vector<std::string> characters(const std::string& text) {
  std::vector<std::string> result;
  for (const char character : text) result.emplace_back(1, character);
  return result;
}

class Dates final : public TranslationTask {
 public:
  Dates(TranslationParts parts, std::vector<corpora::DateExample> dates)
      : TranslationTask(std::move(parts)), dates_(std::move(dates)) {}

  std::vector<Score> scores(const Weights<float>& weights) const override {
    std::vector<Score> scores = {{"exact dates", share_of(exact(weights, held_out_))}};
    const auto all = heads(weights);
    if (all.empty()) return scores;
    Share best = {0, 0};
    for (const auto& head : all)
      if (const auto share = right_fields(head); share.value() >= best.value()) best = share;
    scores.push_back({"character → a character of its field", best});
    return scores;
  }

  std::vector<std::string> samples(const Weights<float>& weights) const override {
    std::vector<std::string> lines;
    for (const auto& written : first_translations(weights, 5, 15))
      lines.push_back(dates_[lines.size()].source + " → " + target_words_.text(written, ""));
    return lines;
  }

 private:
  /// Of the digits, how many look most at a character of the field that decides them.
  Share right_fields(const AttendingHead& head) const {
    Share digits = {0, 0};
    for (std::size_t i = 0; i < dates_.size(); ++i)
      for (std::size_t t = 0; t < head.weights[i].size(); ++t)
        if (const auto& field = dates_[i].fields[t]) {
          const auto place = strongest(head.weights[i][t]);
          digits.count(place >= field->begin && place < field->end);
        }
    return digits;
  }

  std::vector<corpora::DateExample> dates_;  ///< held out
};

constexpr const char* alignment_score = "alignment error rate";

/// The attention of one head to the source as links.
struct HeadLinks {
  std::string name;
  std::vector<corpora::Alignment> links;  ///< of each sentence
  double error_rate;
};

class GrammarTranslation final : public TranslationTask {
 public:
  GrammarTranslation(TranslationParts parts, std::vector<corpora::SentencePair> pairs)
      : TranslationTask(std::move(parts)), pairs_(std::move(pairs)) {}

  std::vector<Score> scores(const Weights<float>& weights) const override {
    const auto is_exact = exact(weights, held_out_);
    std::vector<Score> scores = {{"exact translations", share_of(is_exact)},
                                 {"exact among the longest third", share_of(in_longest_third(is_exact))}};
    if (!longer_.sources.empty())
      scores.push_back({"exact among longer ones than in training", share_of(exact(weights, longer_))});
    const auto all = links_of_heads(weights);
    if (all.empty()) return scores;
    std::size_t words = 0;
    for (const auto& pair : pairs_) words += pair.target.size();
    scores.push_back({alignment_score, best_of(all).error_rate, words});
    for (const auto& head : all)
      if (!head.name.empty())
        scores.push_back({std::string(alignment_score) + ", " + head.name, head.error_rate, words});
    return scores;
  }

  std::vector<ScoreOfLengths> by_length(const Weights<float>& weights) const override {
    std::map<std::size_t, std::vector<bool>> by_pair;  // of lengths: 1 and 2, 3 and 4, …
    for (const auto* examples : {&held_out_, &longer_}) {
      const auto is_exact = exact(weights, *examples);
      for (std::size_t i = 0; i < is_exact.size(); ++i)
        by_pair[(examples->sources[i].size() + 1) / 2].push_back(is_exact[i]);
    }
    std::vector<ScoreOfLengths> scores;
    for (const auto& [pair, is_exact] : by_pair)
      scores.push_back({2 * pair - 1, 2 * pair, is_exact.size(), share_of(is_exact).value()});
    return scores;
  }

  std::vector<std::string> samples(const Weights<float>& weights) const override {
    std::vector<std::string> lines;
    const auto written = first_translations(weights, 4, 40);
    const auto all = links_of_heads(weights);
    for (std::size_t i = 0; i < written.size(); ++i) {
      lines.push_back(corpora::source_text(pairs_[i]));
      lines.push_back("→ " + target_words_.text(written[i]));
      if (all.empty()) continue;
      for (auto& line : corpora::drawn_links(pairs_[i], best_of(all).links[i]))
        lines.push_back(std::move(line));
    }
    if (!all.empty())
      lines.push_back(
          "A column for each source word: ( ) a sure link, ? ? a possible one, * where the model looks");
    return lines;
  }

  std::vector<std::string> alignments(const Weights<float>& weights) const override {
    std::vector<std::string> lines;
    const auto all = links_of_heads(weights);
    if (all.empty()) return lines;
    for (const auto& alignment : best_of(all).links) {
      auto& line = lines.emplace_back();
      for (std::size_t t = 0; t < alignment.size(); ++t)
        line += (t > 0 ? " " : "") + std::to_string(alignment[t]) + "-" + std::to_string(t);
    }
    return lines;
  }

 private:
  /// Of what holds for each held-out sentence, that of the longest third of them.
  std::vector<bool> in_longest_third(const std::vector<bool>& holds) const {
    std::vector<std::size_t> by_length(pairs_.size());
    std::iota(by_length.begin(), by_length.end(), std::size_t{0});
    std::stable_sort(by_length.begin(), by_length.end(), [this](std::size_t a, std::size_t b) {
      return pairs_[a].source.size() < pairs_[b].source.size();
    });
    std::vector<bool> of_longest;
    for (std::size_t i = by_length.size() * 2 / 3; i < by_length.size(); ++i)
      of_longest.push_back(holds[by_length[i]]);
    return of_longest;
  }

  /// While the model is made to write the gold translations.
  std::vector<HeadLinks> links_of_heads(const Weights<float>& weights) const {
    std::vector<HeadLinks> all;
    for (const auto& head : heads(weights)) {
      auto& [name, links, error_rate] = all.emplace_back(HeadLinks{head.name, {}, 0});
      corpora::AlignmentErrors errors;
      for (std::size_t i = 0; i < pairs_.size(); ++i) {
        auto& alignment = links.emplace_back();
        for (const auto& row : head.weights[i]) alignment.push_back(strongest(row));
        errors.add(pairs_[i], alignment);
      }
      error_rate = errors.rate();
    }
    return all;
  }

  static const HeadLinks& best_of(const std::vector<HeadLinks>& heads) {
    return *std::min_element(heads.begin(), heads.end(), [](const HeadLinks& a, const HeadLinks& b) {
      return a.error_rate < b.error_rate;
    });
  }

  std::vector<corpora::SentencePair> pairs_;  ///< held out
};

}  // namespace

std::unique_ptr<Task> make_dates(const TaskOptions& options) {
  const Vocabulary source_words(characters(corpora::date_source_characters())),
      target_words(characters(corpora::date_target_characters()));
  const auto sizes =
      translator_sizes({.attention = DecoderAttention::luong_general, .d_model = 16, .hidden = 16, .d_a = 16},
                       options, source_words, target_words);
  Generator generator(options.seed, drawing_examples);
  std::unordered_set<std::string> drawn;
  const auto draw_new = [&](std::size_t count) {
    std::vector<corpora::DateExample> dates;
    while (dates.size() < count) {
      auto date = corpora::draw_date(generator);
      if (drawn.insert(date.source).second) dates.push_back(std::move(date));
    }
    return dates;
  };
  const auto translations = [&](const std::vector<corpora::DateExample>& dates) {
    return translations_of(
        dates, source_words, [](const auto& date) { return characters(date.source); }, target_words,
        [](const auto& date) { return characters(date.target); });
  };
  const auto training = draw_new(20000), held_out = draw_new(500), validation = draw_new(500);
  return std::make_unique<Dates>(TranslationParts{sizes, source_words, target_words, translations(training),
                                                  translations(validation), translations(held_out)},
                                 held_out);
}

std::unique_ptr<Task> make_translation(const TaskOptions& options) {
  const auto grammar = corpora::Grammar::load(options.grammar_file());
  const Vocabulary source_words(grammar.source_words()), target_words(grammar.target_words());
  const auto sizes = translator_sizes({}, options, source_words, target_words);
  Generator generator(options.seed, drawing_examples);
  auto pairs = corpora::draw_pairs(grammar, generator, 240000, 1000, 500);
  const auto translations = [&](const std::vector<corpora::SentencePair>& some) {
    return translations_of(
        some, source_words, [](const auto& pair) { return corpora::texts(pair.source); }, target_words,
        [](const auto& pair) { return pair.target; });
  };
  TranslationParts parts = {sizes,
                            source_words,
                            target_words,
                            translations(pairs.training),
                            translations(pairs.validation),
                            translations(pairs.held_out),
                            translations(pairs.longer)};
  return std::make_unique<GrammarTranslation>(std::move(parts), std::move(pairs.held_out));
}

}  // namespace attn::train
