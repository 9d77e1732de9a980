#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "attn/random/random.hpp"
#include "corpora/compiled_grammar.hpp"
#include "corpora/sentence_pair.hpp"

namespace corpora {

/// Decides how a sentence is derived. `first` is the place of a piece's first word in the sentence.
class Choices {
 public:
  virtual ~Choices() = default;

  /// An index into the state's alternatives for a piece of `length` words.
  virtual std::size_t alternative(const State& state, std::size_t first, std::size_t length) = 0;

  /// How many of the `length` words of the items from `item` on the item itself has.
  virtual std::size_t own_length(const Alternative& alternative, std::size_t item, std::size_t first,
                                 std::size_t length) = 0;

  /// An index into the state's entries.
  virtual std::size_t entry(const State& state, std::size_t first) = 0;
};

/// By the weights of the grammar.
class RandomChoices final : public Choices {
 public:
  RandomChoices(const CompiledGrammar& grammar, attn::Random& random) : grammar_(grammar), random_(random) {}

  std::size_t alternative(const State& state, std::size_t first, std::size_t length) override;
  std::size_t own_length(const Alternative& alternative, std::size_t item, std::size_t first,
                         std::size_t length) override;
  std::size_t entry(const State& state, std::size_t first) override;

 private:
  /// An index into weights that each contain all before them.
  std::size_t draw_index(const std::vector<double>& cumulative);

  const CompiledGrammar& grammar_;
  attn::Random& random_;
};

/// Those that lead to a given sentence, the first of the grammar where there are several.
class GivenWords final : public Choices {
 public:
  GivenWords(const CompiledGrammar& grammar, const std::vector<std::string>& words);

  /// Whether any choices lead to the sentence. Where none do, the others must not be asked.
  bool has_derivation() { return fits(grammar_.start, 0, words_.size()); }

  std::size_t alternative(const State& state, std::size_t first, std::size_t length) override;
  std::size_t own_length(const Alternative& alternative, std::size_t item, std::size_t first,
                         std::size_t length) override;
  std::size_t entry(const State& state, std::size_t first) override;

 private:
  bool fits(std::size_t state_index, std::size_t first, std::size_t length);
  bool items_fit(const Alternative& alternative, std::size_t item, std::size_t first, std::size_t length);

  const CompiledGrammar& grammar_;
  const std::vector<std::string>& words_;
  std::vector<signed char> known_;  ///< for each state, place and length: whether it fits, −1 where unknown
};

/// How a sentence is derived, which tells both its sides.
class Derivation {
 public:
  Derivation(const GrammarText& text, const CompiledGrammar& grammar, Choices& choices, std::size_t length);

  SentencePair pair() const;

 private:
  /// A state that has become an alternative with children, or an entry: one source word.
  struct Node {
    const Alternative* alternative;
    std::size_t first_child;  ///< among children_, one for each source item
    std::size_t first_word;
    std::size_t last_word;  ///< the one after it
  };

  struct DrawnWord {
    const LexicalEntry* entry;
    std::optional<std::size_t> referent;  ///< what it agrees with
    bool decides;
  };

  /// From `referents` on stack_ has what the variables of the state stand for. Returns the node's index.
  std::size_t expand(std::size_t state_index, std::size_t length, std::size_t referents);

  /// What `node.alternative` has on its source side.
  void expand_items(Node& node, const State& state, std::size_t length, std::size_t referents);
  void add_word(const State& state, std::size_t referents);
  void add_target(std::size_t index, TargetWords& target) const;
  std::size_t nouns_between(std::size_t a, std::size_t b) const;

  const GrammarText& text_;
  const CompiledGrammar& grammar_;
  Choices& choices_;
  std::vector<Node> nodes_;
  std::vector<std::size_t> children_;
  std::vector<DrawnWord> words_;
  std::vector<std::size_t> stack_;     ///< of referents, by the variables of rules that are being expanded
  std::vector<std::size_t> deciders_;  ///< the word that decides each referent
  std::size_t root_;
};

}  // namespace corpora
