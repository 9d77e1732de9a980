#pragma once

#include <vector>

#include "corpora/grammar_text.hpp"

namespace corpora {

/// The values that the variables of each nonterminal can have with the words that there are, found from the
/// words up and for each variable by itself. A grammar need not be compiled for others: they lead to no word.
class PossibleValues {
 public:
  explicit PossibleValues(const GrammarText& text);

  /// Leaves of the values of a rule's variables those that each of its items can have.
  void restrict_to_items(const Rule& rule, std::vector<Combinations>& allowed) const;

 private:
  /// The first of the values are those of the symbol's own variables. Returns whether any is new.
  bool add(std::size_t symbol, const std::vector<Combinations>& values);

  std::vector<std::vector<Combinations>> values_;  ///< by symbol and variable
};

}  // namespace corpora
