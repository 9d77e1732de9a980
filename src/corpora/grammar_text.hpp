#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "corpora/surface.hpp"

namespace corpora {

/// A grammar as its file has it, checked line by line. data/corpora/README.md tells the format.

/// Something in which words agree: "number", with its values "singular" and "plural".
struct Feature {
  std::string name;
  std::vector<std::string> values;
};

/// What a variable can stand for: a value of each of these features. Its combinations are numbered, the first
/// feature slowest.
struct Sort {
  std::vector<std::size_t> features;
  std::size_t combinations = 1;
  bool is_decided = false;  ///< by the words of some table, as what a noun refers to
};

/// Those combinations of a sort that are allowed, a bit for each.
using Combinations = std::uint64_t;
inline constexpr std::size_t most_combinations = 64;

/// For each feature its allowed values, a bit for each.
using Condition = std::vector<std::uint64_t>;

/// What stands between angle brackets: a nonterminal. It has either rules or tables of words.
struct Symbol {
  std::string name;
  std::size_t line = 0;
  std::vector<std::size_t> sorts;  ///< of its parameters
};

/// A form of a word: nothing where the file says "-", no words where it says "()".
using Form = std::optional<std::vector<Word>>;

struct Row {
  std::size_t line;
  std::vector<Form> source;
  std::vector<Form> target;
  Condition condition;
};

/// Which forms the words of a table have.
struct Shape {
  std::string name;
  std::size_t line;
  bool decides = false;
  std::vector<std::pair<Condition, std::string>> categories;  ///< of those that fit, the last counts
  std::vector<std::vector<Condition>> source;  ///< for each possible number of forms, when to use each
  std::vector<std::vector<Condition>> target;
};

struct Table {
  std::size_t line;
  std::size_t symbol;
  std::size_t shape;
  std::vector<Combinations> allowed;  ///< for each parameter
  std::vector<Row> rows;
};

struct Variable {
  std::string name;  ///< empty where a rule says only which values it has
  std::size_t sort;
  Combinations allowed;
};

/// A nonterminal in a rule, with the rule's variables that it is given.
struct Item {
  std::size_t symbol;
  std::vector<std::size_t> variables;
};

/// An item of the source side whose words are linked to a target item, besides its own.
struct ExtraLink {
  std::size_t item;
  bool is_sure;
};

/// Either what an item of the source side becomes, or a word.
struct TargetItem {
  std::optional<std::size_t> item;
  std::vector<Word> words;
  std::vector<ExtraLink> links;
};

struct Rule {
  std::size_t line;
  double weight;
  std::size_t symbol;
  std::vector<Variable> variables;  ///< those of the left side first
  std::vector<Item> source;
  std::vector<TargetItem> target;
};

struct GrammarText {
  std::string file_name;
  std::vector<Feature> features;
  std::vector<Sort> sorts;
  std::vector<Symbol> symbols;
  std::vector<Shape> shapes;
  std::vector<Table> tables;
  std::vector<Rule> rules;
  Contractions contractions;
  std::size_t start = 0;  ///< the symbol <sentence>

  /// The value of a sort's feature in one of its combinations.
  std::size_t value(const Sort& sort, std::size_t feature, std::size_t combination) const;

  /// Whether a combination of a sort agrees with a condition on those features that the sort has.
  bool satisfies(const Sort& sort, std::size_t combination, const Condition& condition) const;

  /// The same for one of a symbol's variables. The condition is about the first variable that has a feature.
  bool satisfies(std::size_t symbol, std::size_t variable, std::size_t combination,
                 const Condition& condition) const;

  /// The symbol as the file writes it: "<noun>".
  std::string written(std::size_t symbol) const { return '<' + symbols[symbol].name + '>'; }

  /// Throws Error: the file, the line, the problem, then what would be valid.
  [[noreturn]] void fail(std::size_t line, std::string_view problem, std::string_view valid) const;
};

/// Throws Error, with the name of the file and the line, where the text is no grammar.
GrammarText parse_grammar(std::string_view text, std::string_view file_name);

}  // namespace corpora
