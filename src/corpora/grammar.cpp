#include "corpora/grammar.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "attn/error.hpp"
#include "attn/text/text_file.hpp"
#include "corpora/sequences.hpp"

namespace corpora {

namespace {

/// Choices decide how a sentence is derived. These are made by the weights of the grammar.
class RandomChoices {
 public:
  RandomChoices(const CompiledGrammar& grammar, attn::Random& random) : grammar_(grammar), random_(random) {}

  /// An index into the state's alternatives for a piece of `length` words. Where it begins tells the weights
  /// nothing, here and below.
  std::size_t alternative(const State& state, std::size_t, std::size_t length) {
    return draw_index(state.cumulative[length]);
  }

  /// How many of the `length` words of the items from `item` on the item itself has.
  std::size_t own_length(const Alternative& alternative, std::size_t item, std::size_t, std::size_t length) {
    if (item + 1 == alternative.states.size()) return length;
    const auto& state = grammar_.states[alternative.states[item]];
    if (state.is_table) return 1;
    const auto& rest = alternative.rest[item + 1];
    double left = random_.random_sample() * alternative.rest[item][length];
    std::size_t possible = 1;
    for (std::size_t own = 1; own < length; ++own) {
      const double weight = state.weights[own] * rest[length - own];
      if (weight == 0.0) continue;
      possible = own;
      left -= weight;
      if (left < 0.0) break;
    }
    return possible;
  }

  /// An index into the state's entries.
  std::size_t entry(const State& state, std::size_t) { return draw_index(state.entry_weights); }

 private:
  /// An index into weights that each contain all before them.
  std::size_t draw_index(const std::vector<double>& cumulative) {
    if (cumulative.size() == 1) return 0;
    const double drawn = random_.random_sample() * cumulative.back();
    const auto found = std::upper_bound(cumulative.begin(), cumulative.end(), drawn);
    return static_cast<std::size_t>(std::min(found, cumulative.end() - 1) - cumulative.begin());
  }

  const CompiledGrammar& grammar_;
  attn::Random& random_;
};

/// Those that lead to a given sentence, the first of the grammar where there are several.
class GivenWords {
 public:
  GivenWords(const CompiledGrammar& grammar, const std::vector<std::string>& words)
      : grammar_(grammar),
        words_(words),
        known_(grammar.states.size() * words.size() * (words.size() + 1), -1) {}

  /// Whether any choices lead to the sentence. Where none do, the others must not be asked.
  bool has_derivation() { return fits(grammar_.start, 0, words_.size()); }

  std::size_t alternative(const State& state, std::size_t first, std::size_t length) {
    std::size_t index = 0;
    while (own_length(state.alternatives[index], 0, first, length) == 0) ++index;
    return index;
  }

  /// 0 where the items do not fit.
  std::size_t own_length(const Alternative& alternative, std::size_t item, std::size_t first,
                         std::size_t length) {
    const auto items_after = alternative.states.size() - item - 1;
    if (items_after == 0) return fits(alternative.states[item], first, length) ? length : 0;
    for (std::size_t own = 1; own + items_after <= length; ++own)
      if (fits(alternative.states[item], first, own) &&
          own_length(alternative, item + 1, first + own, length - own) > 0)
        return own;
    return 0;
  }

  std::size_t entry(const State& state, std::size_t first) {
    const auto found =
        std::find_if(state.entries.begin(), state.entries.end(), [&](const LexicalEntry& entry) {
          return entry.source->text == words_[first] || entry.source->before_vowel == words_[first];
        });
    return static_cast<std::size_t>(found - state.entries.begin());
  }

 private:
  bool fits(std::size_t state_index, std::size_t first, std::size_t length) {
    const auto& state = grammar_.states[state_index];
    if (state.is_table) return length == 1 && entry(state, first) < state.entries.size();
    const auto place = (state_index * words_.size() + first) * (words_.size() + 1) + length;
    if (known_[place] < 0)
      known_[place] = std::any_of(
          state.alternatives.begin(), state.alternatives.end(),
          [&](const Alternative& alternative) { return own_length(alternative, 0, first, length) > 0; });
    return known_[place] == 1;
  }

  const CompiledGrammar& grammar_;
  const std::vector<std::string>& words_;
  std::vector<signed char> known_;  ///< for each state, place and length: whether it fits, −1 where unknown
};

/// How a sentence is derived, which tells both its sides.
template <class Choices>
class Derivation {
 public:
  Derivation(const GrammarText& text, const CompiledGrammar& grammar, Choices& choices, std::size_t length)
      : text_(text), grammar_(grammar), choices_(choices) {
    words_.reserve(length);
    root_ = expand(grammar.start, length, {});
  }

  SentencePair pair() const {
    SentencePair pair;
    pair.source.reserve(words_.size());
    for (std::size_t i = 0; i < words_.size(); ++i) {
      const auto& entry = *words_[i].entry;
      const auto* next = i + 1 < words_.size() ? words_[i + 1].entry->source : nullptr;
      SourceWord word{form_before(*entry.source, next), *entry.category, entry.gloss, std::nullopt};
      if (words_[i].referent) {
        word.controller = deciders_[*words_[i].referent];
        const auto [first, last] = std::minmax(i, *word.controller);
        for (auto between = first + 1; between < last; ++between)
          word.nouns_between += words_[between].decides;
      }
      pair.source.push_back(std::move(word));
    }
    TargetWords target;
    add_target(root_, target);
    put_together(target, text_.contractions, pair);
    return pair;
  }

 private:
  /// A state that has become an alternative with a child for each source item, or an entry: one source word.
  struct Node {
    const Alternative* alternative = nullptr;
    std::size_t first_word = 0, last_word = 0;  ///< the last is the one after it
    std::vector<Node> children{};
  };

  struct DrawnWord {
    const LexicalEntry* entry;
    std::optional<std::size_t> referent;  ///< what it agrees with
    bool decides;
  };

  using Referents = std::vector<std::size_t>;

  /// `referents` is what the variables of the state stand for.
  Node expand(std::size_t state_index, std::size_t length, Referents referents) {
    const auto& state = grammar_.states[state_index];
    Node node{.first_word = words_.size()};
    if (state.is_table) {
      add_word(state, referents);
    } else {
      node.alternative = &state.alternatives[choices_.alternative(state, words_.size(), length)];
      const auto& rule = *node.alternative->rule;
      for (; referents.size() < rule.variables.size(); deciders_.push_back(0))
        referents.push_back(deciders_.size());
      node.children.reserve(rule.source.size());
      for (std::size_t i = 0; i < rule.source.size(); ++i) {
        Referents arguments;
        for (const auto variable : rule.source[i].variables) arguments.push_back(referents[variable]);
        const auto own = choices_.own_length(*node.alternative, i, words_.size(), length);
        node.children.push_back(expand(node.alternative->states[i], own, std::move(arguments)));
        length -= own;
      }
    }
    node.last_word = words_.size();
    return node;
  }

  void add_word(const State& state, const Referents& referents) {
    const auto& entry = state.entries[choices_.entry(state, words_.size())];
    std::optional<std::size_t> referent;
    if (state.decides)
      deciders_[referents[0]] = words_.size();
    else if (state.decided_variable && entry.agrees)
      referent = referents[*state.decided_variable];
    words_.push_back({&entry, referent, state.decides});
  }

  void add_target(const Node& node, TargetWords& target) const {
    if (node.alternative == nullptr) {
      for (const auto& word : *words_[node.first_word].entry->target) {
        target.links.push_back({node.first_word, target.words.size(), true});
        target.words.push_back(&word);
      }
      return;
    }
    for (const auto& item : node.alternative->rule->target) {
      const auto start = target.words.size();
      if (item.item) add_target(node.children[*item.item], target);
      for (const auto& word : item.words) target.words.push_back(&word);
      for (const auto& link : item.links) {
        const auto& linked = node.children[link.item];
        for (auto i = start; i < target.words.size(); ++i)
          for (auto source = linked.first_word; source < linked.last_word; ++source)
            target.links.push_back({source, i, link.is_sure});
      }
    }
  }

  const GrammarText& text_;
  const CompiledGrammar& grammar_;
  Choices& choices_;
  std::vector<DrawnWord> words_;
  std::vector<std::size_t> deciders_;  ///< the word that decides each referent
  Node root_;
};

void add_forms(const Word& word, std::set<std::string>& vocabulary) {
  vocabulary.insert(word.text);
  if (!word.before_vowel.empty()) vocabulary.insert(word.before_vowel);
}

constexpr std::size_t longer_than_trained = 25, validation_pairs = 500;

/// Gives held-out pairs of a small grammar to the training until they are a tenth of both, at least one.
void leave_a_tenth(GrammarPairs& pairs) {
  const std::size_t all = pairs.training.size() + pairs.held_out.size();
  if (all < 2)
    throw attn::Error(fmt::format("the grammar has {} sentences of up to {} words; valid: two or more", all,
                                  longest_in_training));
  const auto kept = std::min(pairs.held_out.size(), std::max<std::size_t>(all / 10, 1));
  const auto first = pairs.held_out.begin() + static_cast<std::ptrdiff_t>(kept);
  std::move(first, pairs.held_out.end(), std::back_inserter(pairs.training));
  pairs.held_out.erase(first, pairs.held_out.end());
}

}  // namespace

GrammarText load_grammar(const std::string& path) {
  return parse_grammar(attn::text_of_file(path, "a text file with a grammar"), path);
}

std::optional<SentencePair> translate(const GrammarText& text, const std::vector<std::string>& words) {
  if (words.empty() || words.size() > longest_sentence) return std::nullopt;
  const auto kept = only_of(words, text);
  const auto grammar = compile_without_weights(kept);
  GivenWords choices(grammar, words);
  if (!choices.has_derivation()) return std::nullopt;
  return Derivation(kept, grammar, choices, words.size()).pair();
}

std::vector<std::size_t> Grammar::lengths() const {
  const auto& weights = compiled_.states[compiled_.start].weights;
  std::vector<std::size_t> result;
  for (std::size_t length = 1; length <= longest_sentence; ++length)
    if (weights[length] > 0.0) result.push_back(length);
  return result;
}

SentencePair Grammar::draw(attn::Random& random, std::size_t length) const {
  const auto& weights = compiled_.states[compiled_.start].weights;
  if (length > longest_sentence || weights[length] <= 0.0)
    throw attn::Error(fmt::format("{} has no sentence of {} words; valid: {}", text_->file_name, length,
                                  fmt::join(lengths(), ", ")));
  RandomChoices choices(compiled_, random);
  return Derivation(*text_, compiled_, choices, length).pair();
}

std::vector<std::string> Grammar::source_words() const {
  std::set<std::string> words;
  for (const auto& state : compiled_.states)
    for (const auto& entry : state.entries) add_forms(*entry.source, words);
  return {words.begin(), words.end()};
}

std::vector<std::string> Grammar::target_words() const {
  std::set<std::string> words;
  for (const auto& state : compiled_.states) {
    for (const auto& entry : state.entries)
      for (const auto& word : *entry.target) add_forms(word, words);
    for (const auto& alternative : state.alternatives)
      for (const auto& item : alternative.rule->target)
        for (const auto& word : item.words) add_forms(word, words);
  }
  auto all = words;
  for (const auto& [parts, contraction] : text_->contractions)
    if (words.count(parts.first) > 0 && words.count(parts.second) > 0) all.insert(contraction);
  return {all.begin(), all.end()};
}

GrammarPairs draw_pairs(const Grammar& grammar, attn::Random& random, std::size_t training,
                        std::size_t held_out, std::size_t longer) {
  std::unordered_set<std::string> drawn;
  const auto draw = [&](std::size_t count, std::size_t fewest_words, std::size_t most_words) {
    auto some = draw_distinct(grammar, random, count, fewest_words, most_words, drawn);
    for (const auto& pair : some) drawn.insert(source_text(pair));
    return some;
  };
  GrammarPairs pairs;
  pairs.held_out = draw(held_out, 1, longest_in_training);
  pairs.training = draw(training, 1, longest_in_training);
  leave_a_tenth(pairs);
  if (longer > 0) pairs.longer = draw(longer, longest_in_training + 1, longer_than_trained);
  pairs.validation = draw(validation_pairs, 1, longest_in_training);
  return pairs;
}

std::vector<SentencePair> draw_distinct(const Grammar& grammar, attn::Random& random, std::size_t count,
                                        std::size_t shortest, std::size_t longest,
                                        const std::unordered_set<std::string>& excluded) {
  /// After so many repetitions in a row a length is taken to have no further sentence.
  constexpr std::size_t most_repetitions = 1000, most_reserved = 1'000'000;
  auto open = grammar.lengths();
  std::erase_if(open, [&](std::size_t length) { return length < shortest || length > longest; });
  std::array<std::size_t, longest_sentence + 1> repetitions{};
  std::vector<SentencePair> pairs;
  std::unordered_set<std::string> drawn;
  pairs.reserve(std::min(count, most_reserved));
  drawn.reserve(std::min(count, most_reserved));
  while (pairs.size() < count && !open.empty()) {
    const auto length = draw_from(random, open);
    auto pair = grammar.draw(random, length);
    auto text = source_text(pair);
    if (excluded.count(text) == 0 && drawn.insert(std::move(text)).second) {
      repetitions[length] = 0;
      pairs.push_back(std::move(pair));
    } else if (++repetitions[length] == most_repetitions) {
      std::erase(open, length);
    }
  }
  return pairs;
}

}  // namespace corpora
