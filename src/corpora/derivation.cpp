#include "corpora/derivation.hpp"

#include <algorithm>
#include <utility>

namespace corpora {

Derivation::Derivation(const GrammarText& text, const CompiledGrammar& grammar, Choices& choices,
                       std::size_t length)
    : text_(text), grammar_(grammar), choices_(choices) {
  words_.reserve(length);
  nodes_.reserve(4 * length);
  children_.reserve(4 * length);
  root_ = expand(grammar.start, length, 0);
}

std::size_t Derivation::expand(std::size_t state_index, std::size_t length, std::size_t referents) {
  const auto& state = grammar_.states[state_index];
  Node node{nullptr, children_.size(), words_.size(), 0};
  if (state.is_table) {
    add_word(state, referents);
  } else {
    node.alternative = &state.alternatives[choices_.alternative(state, words_.size(), length)];
    expand_items(node, state, length, referents);
  }
  node.last_word = words_.size();
  nodes_.push_back(node);
  return nodes_.size() - 1;
}

void Derivation::expand_items(Node& node, const State& state, std::size_t length, std::size_t referents) {
  const auto& rule = *node.alternative->rule;
  const auto variables = stack_.size();
  for (std::size_t i = 0; i < state.allowed.size(); ++i) stack_.push_back(stack_[referents + i]);
  for (auto i = state.allowed.size(); i < rule.variables.size(); ++i) {
    stack_.push_back(deciders_.size());
    deciders_.push_back(0);
  }
  const auto arguments = stack_.size();
  children_.resize(node.first_child + rule.source.size());
  for (std::size_t i = 0; i < rule.source.size(); ++i) {
    for (const auto variable : rule.source[i].variables) stack_.push_back(stack_[variables + variable]);
    const auto own = choices_.own_length(*node.alternative, i, words_.size(), length);
    const auto child = expand(node.alternative->states[i], own, arguments);
    children_[node.first_child + i] = child;
    length -= own;
    stack_.resize(arguments);
  }
  stack_.resize(variables);
}

void Derivation::add_word(const State& state, std::size_t referents) {
  const auto& entry = state.entries[choices_.entry(state, words_.size())];
  std::optional<std::size_t> referent;
  if (state.decides)
    deciders_[stack_[referents]] = words_.size();
  else if (state.decided_variable && entry.agrees)
    referent = stack_[referents + *state.decided_variable];
  words_.push_back({&entry, referent, state.decides});
}

SentencePair Derivation::pair() const {
  SentencePair pair;
  pair.source.reserve(words_.size());
  for (std::size_t i = 0; i < words_.size(); ++i) {
    const auto& entry = *words_[i].entry;
    const auto* next = i + 1 < words_.size() ? words_[i + 1].entry->source : nullptr;
    SourceWord word{form_before(*entry.source, next), *entry.category, entry.gloss, std::nullopt};
    if (words_[i].referent) {
      word.controller = deciders_[*words_[i].referent];
      word.nouns_between = nouns_between(i, *word.controller);
    }
    pair.source.push_back(std::move(word));
  }
  TargetWords target;
  add_target(root_, target);
  put_together(target, text_.contractions, pair);
  return pair;
}

std::size_t Derivation::nouns_between(std::size_t a, std::size_t b) const {
  const auto [first, last] = std::minmax(a, b);
  std::size_t count = 0;
  for (auto i = first + 1; i < last; ++i)
    if (words_[i].decides) ++count;
  return count;
}

void Derivation::add_target(std::size_t index, TargetWords& target) const {
  const auto& node = nodes_[index];
  if (node.alternative == nullptr) {
    for (const auto& word : *words_[node.first_word].entry->target) {
      target.links.push_back({node.first_word, target.words.size(), true});
      target.words.push_back(&word);
    }
    return;
  }
  for (const auto& item : node.alternative->rule->target) {
    const auto start = target.words.size();
    if (item.item) add_target(children_[node.first_child + *item.item], target);
    for (const auto& word : item.words) target.words.push_back(&word);
    for (const auto& link : item.links) {
      const auto& linked = nodes_[children_[node.first_child + link.item]];
      for (auto i = start; i < target.words.size(); ++i)
        for (auto source = linked.first_word; source < linked.last_word; ++source)
          target.links.push_back({source, i, link.is_sure});
    }
  }
}

}  // namespace corpora
