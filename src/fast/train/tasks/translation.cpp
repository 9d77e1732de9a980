#include <algorithm>

#include "fast/train/tasks/grammar_pairs.hpp"
#include "fast/train/tasks/translation_task.hpp"

namespace attn::train {

namespace {

using Alignment = std::vector<std::size_t>;  ///< for each target word the source word that it looks at most

/// Alignment error rate: 1 − (|A ∩ S| + |A ∩ P|) / (|A| + |S|) for the links A of the model, the sure ones S
/// and the possible ones P, which hold the sure ones (Och & Ney 2003, section 6). A word that is joined of
/// two (l'homme) has two sure links and can look most at one word only, so that 0 is out of reach.
class AlignmentErrors {
 public:
  void add(const corpora::SentencePair& pair, const Alignment& alignment) {
    made_ += alignment.size();
    for (const auto& link : pair.links) {
      sure_ += link.is_sure;
      if (alignment[link.target] != link.source) continue;
      in_sure_ += link.is_sure;
      ++in_possible_;
    }
  }

  double rate() const {
    return 1 - static_cast<double>(in_sure_ + in_possible_) / static_cast<double>(made_ + sure_);
  }

 private:
  std::size_t made_ = 0, sure_ = 0, in_sure_ = 0, in_possible_ = 0;
};

class GrammarTranslation final : public TranslationTask {
 public:
  GrammarTranslation(const TaskOptions& options, const corpora::Grammar& grammar)
      : TranslationTask({.source_words = 0, .target_words = 0}, options, grammar.source_words(),
                        grammar.target_words()) {
    auto pairs = draw_pairs(grammar, options.seed, 160000, 1000, 500);
    held_out_ = std::move(pairs.held_out);
    set(weights_of(sizes()), examples(pairs.training), examples(pairs.validation), examples(held_out_));
    longer_ = std::move(pairs.longer);
  }

  std::vector<Score> scores(const Weights<float>& weights) const override {
    std::vector<Score> scores = {
        {"exact translations", exact(weights, held_out())},
        {"exact among the longest third", exact(weights, examples(longest_third()))}};
    if (!longer_.empty())
      scores.push_back({"exact among longer ones than in training", exact(weights, examples(longer_))});
    if (sizes().attention != DecoderAttention::none)
      scores.push_back({"alignment error rate", alignment_error_rate(weights)});
    return scores;
  }

  std::vector<std::string> samples(const Weights<float>& weights) const override {
    std::vector<std::string> lines;
    const auto first = held_out().sources().begin();
    const auto shown = static_cast<std::ptrdiff_t>(std::min<std::size_t>(held_out_.size(), 4));
    const std::vector<std::vector<int>> sources(first, first + shown);
    const auto translations = translate_all(weights, sizes(), sources, 40);
    const bool attends = sizes().attention != DecoderAttention::none;
    const auto alignments = attends ? alignments_of(weights) : std::vector<Alignment>();
    for (std::size_t i = 0; i < translations.size(); ++i) {
      lines.push_back(corpora::source_text(held_out_[i]));
      lines.push_back("→ " + written(translations[i].words));
      if (!attends) continue;
      for (auto& line : grid(held_out_[i], alignments[i])) lines.push_back(std::move(line));
    }
    return lines;
  }

  std::vector<std::string> alignments(const Weights<float>& weights) const override {
    std::vector<std::string> lines;
    if (sizes().attention == DecoderAttention::none) return lines;
    for (const auto& alignment : alignments_of(weights)) {
      std::string line;
      for (std::size_t t = 0; t < alignment.size(); ++t)
        line += (t > 0 ? " " : "") + std::to_string(alignment[t]) + "-" + std::to_string(t);
      lines.push_back(std::move(line));
    }
    return lines;
  }

 private:
  TranslationExamples examples(const std::vector<corpora::SentencePair>& pairs) const {
    std::vector<std::vector<int>> sources, targets;
    for (const auto& pair : pairs) {
      sources.push_back(source_words().ids(texts(pair.source)));
      targets.push_back(target_words().ids(pair.target));
    }
    return {sizes(), std::move(sources), std::move(targets)};
  }

  std::vector<corpora::SentencePair> longest_third() const {
    auto pairs = held_out_;
    std::stable_sort(pairs.begin(), pairs.end(),
                     [](const auto& a, const auto& b) { return a.source.size() < b.source.size(); });
    pairs.erase(pairs.begin(), pairs.begin() + static_cast<std::ptrdiff_t>(pairs.size() * 2 / 3));
    return pairs;
  }

  std::string written(const std::vector<int>& words) const {
    std::string text;
    for (const int word : words)
      text += (text.empty() ? "" : " ") + target_words().words()[static_cast<std::size_t>(word)];
    return text;
  }

  /// While the model is made to write the gold translations.
  std::vector<Alignment> alignments_of(const Weights<float>& weights) const {
    std::vector<Alignment> alignments;
    const auto rows = forced_alignment(weights, sizes(), held_out().sources(), held_out().targets());
    for (const auto& sentence : rows) {
      auto& alignment = alignments.emplace_back();
      for (const auto& row : sentence)
        alignment.push_back(static_cast<std::size_t>(std::max_element(row.begin(), row.end()) - row.begin()));
    }
    return alignments;
  }

  double alignment_error_rate(const Weights<float>& weights) const {
    const auto alignments = alignments_of(weights);
    AlignmentErrors errors;
    for (std::size_t i = 0; i < held_out_.size(); ++i) errors.add(held_out_[i], alignments[i]);
    return errors.rate();
  }

  /// A row for each target word, a column for each source word: ( ) a sure link, ? ? a possible one, * where
  /// the model looks.
  static std::vector<std::string> grid(const corpora::SentencePair& pair, const Alignment& alignment) {
    std::vector<std::string> lines;
    for (std::size_t t = 0; t < pair.target.size(); ++t) {
      std::string line;
      for (std::size_t s = 0; s < pair.source.size(); ++s) {
        const auto link = std::find_if(pair.links.begin(), pair.links.end(), [&](const corpora::Link& gold) {
          return gold.source == s && gold.target == t;
        });
        const bool is_gold = link != pair.links.end();
        const std::string mark = alignment[t] == s ? "*" : is_gold ? " " : ".";
        line += !is_gold ? " " + mark + " " : link->is_sure ? "(" + mark + ")" : "?" + mark + "?";
      }
      lines.push_back(line + " " + pair.target[t]);
    }
    return lines;
  }

  std::vector<corpora::SentencePair> held_out_, longer_;
};

}  // namespace

std::unique_ptr<Task> make_translation(const TaskOptions& options) {
  return std::make_unique<GrammarTranslation>(options, load_grammar(options));
}

}  // namespace attn::train
