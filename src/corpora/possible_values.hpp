#pragma once

#include <vector>

#include "corpora/grammar_text.hpp"

namespace corpora {

/// The values that the variables of each nonterminal can have with the words that there are, found from the
/// words up and for each variable by itself. A grammar need not be compiled for others: they lead to no word.
class PossibleValues {
 public:
  /// The text has to stay where it is.
  explicit PossibleValues(const GrammarText& text);

  /// Leaves of the values of a rule's variables those that each of its items can have.
  void restrict_to_items(const Rule& rule, std::vector<Combinations>& allowed) const;

 private:
  /// Of a nonterminal: the values of its variables, and whether it becomes words at all.
  struct Possible {
    std::vector<Combinations> values;
    bool ends = false;

    bool operator==(const Possible&) const = default;
  };

  bool all_end(const std::vector<Item>& items) const;
  std::vector<Combinations> values_of(const Table& table, const Row& row) const;

  /// The first of the values are those of the symbol's own variables. Returns whether that is new.
  bool add(std::size_t symbol, const std::vector<Combinations>& values);

  /// Returns whether that is new.
  bool add(const Rule& rule);

  const GrammarText& text_;
  std::vector<Possible> possible_;  ///< by symbol
};

}  // namespace corpora
