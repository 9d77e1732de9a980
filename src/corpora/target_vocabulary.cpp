#include "corpora/target_vocabulary.hpp"

#include <vector>

namespace corpora {

namespace {

using Words = std::set<const Word*>;

/// Which words stand first and last in what a state becomes.
struct Edges {
  Words first;
  Words last;
};

class EdgeFinder {
 public:
  explicit EdgeFinder(const CompiledGrammar& grammar) : grammar_(grammar), edges_(grammar.states.size()) {
    for (std::size_t i = 0; i < edges_.size(); ++i)
      for (const auto& entry : grammar.states[i].entries) {
        if (entry.target->empty()) continue;
        edges_[i].first.insert(&entry.target->front());
        edges_[i].last.insert(&entry.target->back());
      }
    while (grow()) {
    }
  }

  Words first(const Alternative& alternative, const TargetItem& item) const {
    return item.item ? edges_[alternative.states[*item.item]].first : Words{&item.words.front()};
  }

  Words last(const Alternative& alternative, const TargetItem& item) const {
    return item.item ? edges_[alternative.states[*item.item]].last : Words{&item.words.back()};
  }

 private:
  bool grow() {
    bool grows = false;
    for (std::size_t i = 0; i < edges_.size(); ++i)
      for (const auto& alternative : grammar_.states[i].alternatives) {
        const auto& target = alternative.rule->target;
        grows = add(first(alternative, target.front()), edges_[i].first) || grows;
        grows = add(last(alternative, target.back()), edges_[i].last) || grows;
      }
    return grows;
  }

  static bool add(const Words& words, Words& all) {
    const auto before = all.size();
    all.insert(words.begin(), words.end());
    return all.size() > before;
  }

  const CompiledGrammar& grammar_;
  std::vector<Edges> edges_;
};

void add_forms(const Word& word, std::set<std::string>& vocabulary) {
  vocabulary.insert(word.text);
  if (!word.before_vowel.empty()) vocabulary.insert(word.before_vowel);
}

void add_meeting(const Word& word, const Word& next, const Contractions& contractions,
                 std::set<std::string>& vocabulary) {
  const auto& form = form_before(word, &next);
  const auto contraction = contractions.find({form, next.text});
  if (contraction != contractions.end()) vocabulary.insert(contraction->second);
}

}  // namespace

std::set<std::string> target_vocabulary(const GrammarText& text, const CompiledGrammar& grammar) {
  std::set<std::string> vocabulary;
  const EdgeFinder edges(grammar);
  for (const auto& state : grammar.states) {
    for (const auto& entry : state.entries)
      for (std::size_t i = 0; i < entry.target->size(); ++i) {
        add_forms((*entry.target)[i], vocabulary);
        if (i > 0) add_meeting((*entry.target)[i - 1], (*entry.target)[i], text.contractions, vocabulary);
      }
    for (const auto& alternative : state.alternatives) {
      const auto& target = alternative.rule->target;
      for (std::size_t i = 0; i < target.size(); ++i) {
        for (const auto& word : target[i].words) add_forms(word, vocabulary);
        if (i == 0) continue;
        const auto following = edges.first(alternative, target[i]);
        for (const auto* word : edges.last(alternative, target[i - 1]))
          for (const auto* next : following) add_meeting(*word, *next, text.contractions, vocabulary);
      }
    }
  }
  return vocabulary;
}

}  // namespace corpora
