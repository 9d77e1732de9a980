#pragma once

#include <array>
#include <cstddef>
#include <deque>
#include <string>
#include <vector>

#include "corpora/grammar_text.hpp"

namespace corpora {

/// No sentence of a grammar has more source words.
inline constexpr std::size_t longest_sentence = 32;

/// A word of a table with the values of its variables, and what it says then.
struct LexicalEntry {
  const Word* source;
  const std::vector<Word>* target;
  const std::string* category;
  std::string gloss;
  bool agrees = false;  ///< whether another value of its decided variable says something else
};

/// Weights of what has 0, 1, … words.
using LengthWeights = std::array<double, longest_sentence + 1>;

/// A rule with a state for each of its source items.
struct Alternative {
  const Rule* rule;
  std::vector<std::size_t> states;
  std::vector<LengthWeights> rest;  ///< of the items from the first, the second… on together
};

/// A nonterminal whose variables have certain values: it becomes one of `alternatives` or one of `entries`.
struct State {
  std::size_t symbol;
  std::vector<Combinations> allowed;
  bool is_table;
  bool decides = false;  ///< whether what agrees with its variable agrees with its word
  std::optional<std::size_t> decided_variable;  ///< of a table: the place of the variable that a noun decides
  std::vector<Alternative> alternatives;
  std::vector<LexicalEntry> entries;
  std::vector<double> entry_weights;  ///< each with all before it
  LengthWeights weights{};

  /// For each number of words the weights of the alternatives, each with all before it.
  std::vector<std::vector<double>> cumulative;
};

/// A grammar whose features are compiled away: an ordinary weighted grammar without context, in which
/// everything agrees. States refer to the text, which has to stay where it is.
struct CompiledGrammar {
  std::deque<State>
      states;  ///< large, and more come one by one, so that moving them would take most of the time
  std::size_t start = 0;
};

/// Throws Error where a rule cannot end, can never be used or lacks a word that decides a variable.
CompiledGrammar compile(const GrammarText& text);

/// For sentences that are given: nothing is checked, and nothing is drawn by the weights.
CompiledGrammar compile_without_weights(const GrammarText& text);

}  // namespace corpora
