#include <algorithm>
#include <map>
#include <numeric>

#include "attn/random/generator.hpp"
#include "corpora/grammar_pairs.hpp"
#include "corpora/sentence_pair.hpp"
#include "fast/train/tasks/translation_task.hpp"

namespace attn::train {

namespace {

using corpora::Alignment;

constexpr const char* alignment_score = "alignment error rate";

/// The attention of one head to the source as links.
struct HeadLinks {
  std::string name;
  std::vector<Alignment> links;  ///< of each sentence
  double error_rate;
};

class GrammarTranslation final : public TranslationTask {
 public:
  GrammarTranslation(const TaskOptions& options, const corpora::Grammar& grammar)
      : TranslationTask({.source_words = 0, .target_words = 0}, options, grammar.source_words(),
                        grammar.target_words()) {
    Generator generator(options.seed, drawing_examples);
    auto pairs = corpora::draw_pairs(grammar, generator, 240000, 1000, 500);
    held_out_ = std::move(pairs.held_out);
    set(model()->table(), examples(pairs.training), examples(pairs.validation), examples(held_out_));
    longer_ = std::move(pairs.longer);
  }

  std::vector<Score> scores(const Weights<float>& weights) const override {
    const auto is_exact = exact(weights, held_out());
    std::vector<Score> scores = {{"exact translations", share_of(is_exact)},
                                 {"exact among the longest third", share_of(in_longest_third(is_exact))}};
    if (!longer_.empty())
      scores.push_back(
          {"exact among longer ones than in training", share_of(exact(weights, examples(longer_)))});
    const auto heads = links_of_heads(weights);
    if (heads.empty()) return scores;
    scores.push_back({alignment_score, best_of(heads).error_rate, target_words_held_out()});
    for (const auto& head : heads)
      if (!head.name.empty())
        scores.push_back(
            {std::string(alignment_score) + ", " + head.name, head.error_rate, target_words_held_out()});
    return scores;
  }

  std::vector<ScoreOfLengths> by_length(const Weights<float>& weights) const override {
    std::map<std::size_t, std::vector<bool>> by_pair;  // of lengths: 1 and 2, 3 and 4, …
    const auto add = [&](const TranslationExamples& examples) {
      const auto is_exact = exact(weights, examples);
      for (std::size_t i = 0; i < is_exact.size(); ++i)
        by_pair[(examples.sources()[i].size() + 1) / 2].push_back(is_exact[i]);
    };
    add(held_out());
    if (!longer_.empty()) add(examples(longer_));
    std::vector<ScoreOfLengths> scores;
    for (const auto& [pair, is_exact] : by_pair)
      scores.push_back({2 * pair - 1, 2 * pair, is_exact.size(), share_of(is_exact).value()});
    return scores;
  }

  std::vector<std::string> samples(const Weights<float>& weights) const override {
    std::vector<std::string> lines;
    const auto first = held_out().sources().begin();
    const auto shown = static_cast<std::ptrdiff_t>(std::min<std::size_t>(held_out_.size(), 4));
    const auto written_words = translate(weights, {first, first + shown}, 40);
    const auto heads = links_of_heads(weights);
    for (std::size_t i = 0; i < written_words.size(); ++i) {
      lines.push_back(corpora::source_text(held_out_[i]));
      lines.push_back("→ " + written(written_words[i]));
      if (heads.empty()) continue;
      for (auto& line : corpora::drawn_links(held_out_[i], best_of(heads).links[i]))
        lines.push_back(std::move(line));
    }
    if (!heads.empty())
      lines.push_back(
          "A column for each source word: ( ) a sure link, ? ? a possible one, * where the model looks");
    return lines;
  }

  std::vector<std::string> alignments(const Weights<float>& weights) const override {
    std::vector<std::string> lines;
    const auto heads = links_of_heads(weights);
    if (heads.empty()) return lines;
    for (const auto& alignment : best_of(heads).links) {
      std::string line;
      for (std::size_t t = 0; t < alignment.size(); ++t)
        line += (t > 0 ? " " : "") + std::to_string(alignment[t]) + "-" + std::to_string(t);
      lines.push_back(std::move(line));
    }
    return lines;
  }

 private:
  TranslationExamples examples(const std::vector<corpora::SentencePair>& pairs) const {
    Sequences sources, targets;
    for (const auto& pair : pairs) {
      sources.push_back(source_words().ids(corpora::texts(pair.source)));
      targets.push_back(target_words().ids(pair.target));
    }
    return {model(), std::move(sources), std::move(targets)};
  }

  /// Of what holds for each held-out sentence, that of the longest third of them.
  std::vector<bool> in_longest_third(const std::vector<bool>& holds) const {
    std::vector<std::size_t> by_length(held_out_.size());
    std::iota(by_length.begin(), by_length.end(), std::size_t{0});
    std::stable_sort(by_length.begin(), by_length.end(), [this](std::size_t a, std::size_t b) {
      return held_out_[a].source.size() < held_out_[b].source.size();
    });
    std::vector<bool> of_longest;
    for (std::size_t i = by_length.size() * 2 / 3; i < by_length.size(); ++i)
      of_longest.push_back(holds[by_length[i]]);
    return of_longest;
  }

  std::string written(const std::vector<int>& words) const {
    std::string text;
    for (const int word : words)
      text += (text.empty() ? "" : " ") + target_words().words()[static_cast<std::size_t>(word)];
    return text;
  }

  /// While the model is made to write the gold translations.
  std::vector<HeadLinks> links_of_heads(const Weights<float>& weights) const {
    std::vector<HeadLinks> heads;
    for (const auto& head : model()->attending_heads(weights, held_out().sources(), held_out().targets())) {
      std::vector<Alignment> links;
      for (const auto& sentence : head.weights) links.push_back(strongest_of_rows(sentence));
      const double rate = error_rate(links);
      heads.push_back({head.name, std::move(links), rate});
    }
    return heads;
  }

  static Alignment strongest_of_rows(const std::vector<std::vector<float>>& weights) {
    Alignment alignment;
    for (const auto& row : weights)
      alignment.push_back(static_cast<std::size_t>(std::max_element(row.begin(), row.end()) - row.begin()));
    return alignment;
  }

  std::size_t target_words_held_out() const {
    return std::accumulate(
        held_out_.begin(), held_out_.end(), std::size_t{0},
        [](std::size_t sum, const corpora::SentencePair& pair) { return sum + pair.target.size(); });
  }

  double error_rate(const std::vector<Alignment>& alignments) const {
    corpora::AlignmentErrors errors;
    for (std::size_t i = 0; i < held_out_.size(); ++i) errors.add(held_out_[i], alignments[i]);
    return errors.rate();
  }

  static const HeadLinks& best_of(const std::vector<HeadLinks>& heads) {
    return *std::min_element(heads.begin(), heads.end(), [](const HeadLinks& a, const HeadLinks& b) {
      return a.error_rate < b.error_rate;
    });
  }

  std::vector<corpora::SentencePair> held_out_, longer_;
};

}  // namespace

std::unique_ptr<Task> make_translation(const TaskOptions& options) {
  return std::make_unique<GrammarTranslation>(options, load_grammar(options));
}

}  // namespace attn::train
