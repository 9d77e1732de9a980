#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "attn/random/random.hpp"
#include "corpora/sentence_pair.hpp"

namespace corpora {
/// A grammar as its file has it, checked line by line. data/corpora/README.md tells the format.

/// Which values of all features are allowed, a bit for each.
inline constexpr std::size_t most_values = 256;
using Condition = std::bitset<most_values>;

/// Whether what has these values, one of each of its features, meets a condition.
inline bool satisfies(const Condition& values, const Condition& condition) {
  return (values & ~condition).none();
}

/// Something in which words agree: "number", with its values "singular" and "plural".
struct Feature {
  std::string name;
  std::vector<Condition> values;  ///< each a bit
  Condition all = {};
};

/// What a variable can stand for: a value of each of these features.
struct Sort {
  std::vector<std::size_t> features;
  std::vector<Condition> combinations = std::vector<Condition>(1);  ///< the first feature slowest
  bool is_decided = false;  ///< by the words of some table, as what a noun refers to
};

/// Those combinations of a sort that are allowed, a bit for each.
using Combinations = std::uint64_t;
inline constexpr std::size_t most_combinations = 64;

/// What stands between angle brackets: a nonterminal. It has either rules or tables of words.
struct Symbol {
  std::string name;
  std::size_t line = 0;
  std::vector<std::size_t> sorts;  ///< of its parameters
  bool has_rules = false;
};

/// A form of a word: nothing where the file says "-", no words where it says "()".
using Form = std::optional<std::vector<Word>>;

struct Row {
  std::size_t line;
  std::vector<Form> source, target;
  Condition condition;
};

/// Which forms the words of a table have.
struct Shape {
  std::string name;
  std::size_t line;
  bool decides = false;
  std::vector<std::pair<Condition, std::string>> categories;  ///< of those that fit, the last counts
  std::vector<std::vector<Condition>> source, target;  ///< by possible number of forms: when to use each
};

struct Table {
  std::size_t line, symbol, shape;
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

  /// The values that a symbol's variables have with these combinations. Where two of them have a feature, it
  /// is that of the first.
  Condition values(std::size_t symbol, const std::vector<std::size_t>& combinations) const;

  /// The symbol as the file writes it: "<noun>".
  std::string written(std::size_t symbol) const { return '<' + symbols[symbol].name + '>'; }

  /// Throws Error: the file, the line, the problem, then what would be valid.
  [[noreturn]] void fail(std::size_t line, std::string_view problem, std::string_view valid) const;
};

/// Throws Error, with the name of the file and the line, where the text is no grammar.
GrammarText parse_grammar(std::string_view text, std::string_view file_name);

/// The same, of a file.
GrammarText load_grammar(const std::string& path);

/// The first derivation of the pair whose source is those words; none where the grammar does not have it. "a"
/// and "an" may stand for each other, and come out as is right.
std::optional<SentencePair> translate(const GrammarText& text, const std::vector<std::string>& words);

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
  std::deque<State> states;  ///< large, and more come one by one, so that moving them would take long
  std::size_t start = 0;
};

/// For drawing: throws Error where a rule cannot end, can never be used or lacks a word that decides a
/// variable.
CompiledGrammar compile(const GrammarText& text);

/// The rows of these words and the rules that lead to them: compiled in a fraction of the time.
GrammarText only_of(const std::vector<std::string>& words, const GrammarText& text);

/// For sentences that are given: nothing is checked, and nothing is drawn by the weights.
CompiledGrammar compile_without_weights(const GrammarText& text);

/// A synchronous grammar: each of its rules makes a piece of a source sentence and the same piece of its
/// translation, and words agree across rules in number, gender and whatever else the grammar's file declares.
/// data/corpora/README.md tells how such a file is written.
class Grammar {
 public:
  /// Throws attn::Error, with the name of the file and the line, where the text is no grammar: an unknown
  /// nonterminal or feature, sides that do not match, a rule that cannot end or can never be used.
  static Grammar read(std::string_view text, std::string_view file_name) {
    return Grammar(parse_grammar(text, file_name));
  }

  /// As above, from a file.
  static Grammar load(const std::string& path) { return Grammar(load_grammar(path)); }

  /// A pair whose source has exactly `length` words, by the weights of the grammar among those. Throws
  /// attn::Error where the grammar has none.
  SentencePair draw(attn::Random& random, std::size_t length) const;

  std::optional<SentencePair> translate(const std::vector<std::string>& words) const {
    return corpora::translate(*text_, words);
  }

  /// The numbers of source words that a sentence can have, up to 32.
  std::vector<std::size_t> lengths() const;

  /// Every word that can stand in a source sentence, sorted by its bytes.
  std::vector<std::string> source_words() const;

  /// Every word that can stand in a target sentence, and a few that cannot (a contraction of words that never
  /// meet in it); sorted by its bytes.
  std::vector<std::string> target_words() const;

 private:
  explicit Grammar(GrammarText text)
      : text_(std::make_unique<const GrammarText>(std::move(text))), compiled_(compile(*text_)) {}

  std::unique_ptr<const GrammarText> text_;  ///< stays where it is when the grammar is moved
  CompiledGrammar compiled_;
};

/// Words of the longest source that is trained on.
inline constexpr std::size_t longest_in_training = 16;

/// Sentence pairs of a grammar, all with different sources; fewer than asked for where the grammar has no
/// more.
struct GrammarPairs {
  std::vector<SentencePair> training;    ///< of up to 16 source words
  std::vector<SentencePair> validation;  ///< likewise, as the next
  std::vector<SentencePair> held_out;    ///< no more than a tenth of these and the training pairs
  std::vector<SentencePair> longer;      ///< of 17 to 25
};

/// Throws attn::Error for a grammar that has fewer than two sentences of up to 16 words.
GrammarPairs draw_pairs(const Grammar& grammar, attn::Random& random, std::size_t training,
                        std::size_t held_out, std::size_t longer);

/// `count` pairs whose source sentences have `shortest` to `longest` words and are all different, none of
/// which `excluded` has (as source_text writes it); fewer where the grammar has no further ones. Each length
/// is equally likely, as long as the grammar has further sentences of it.
std::vector<SentencePair> draw_distinct(const Grammar& grammar, attn::Random& random, std::size_t count,
                                        std::size_t shortest, std::size_t longest,
                                        const std::unordered_set<std::string>& excluded = {});

}  // namespace corpora
