#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "corpora/grammar_text.hpp"

namespace corpora {

using Texts = std::vector<std::string>;

struct Line {
  std::size_t number;
  std::string text;
  Texts tokens;  ///< words between spaces; what stands in <…> or (…) belongs together with all its spaces
};

/// A line at the margin and the indented ones below it.
struct Section {
  Line header;
  std::vector<Line> lines;
};

/// What a section may begin with, for messages.
extern const std::string_view valid_headers;

/// Throws Error by `grammar.fail` where an indented line stands alone or a section has no lines.
std::vector<Section> read_sections(const std::string& text, const GrammarText& grammar);

/// Whether a token is "<noun X>" or the like.
bool is_bracket(const std::string& token);

bool begins_rules(const Section& section);
bool begins_words(const Section& section);

Texts cut(std::string_view text, char separator);
Texts words_of(std::string_view text);

/// For messages: shortened, and "a, b, c".
std::string in_quotes(std::string_view text);
std::string list(const Texts& texts);

/// A name in angle brackets with its arguments, and the (…) behind it.
struct Bracket {
  std::string name;
  Texts arguments;
  Texts sources;
};

/// Reads a grammar's file: first what is declared, then the words, then the rules, so that each may stand
/// anywhere. Every error is an Error that names the file, the line and what would be valid.
class GrammarParser {
 public:
  GrammarParser(std::string_view text, std::string_view file_name);
  GrammarText parse();

 private:
  [[noreturn]] void fail(const Line& line, std::string_view problem, std::string_view valid) const;
  void read_declarations(const Section& section);

  /// The words on both sides of the first "=", which is there.
  std::pair<Texts, Texts> sides(const Line& line, std::string_view valid) const;
  void read_feature(const Line& line);
  void read_group(const Line& line);
  void add_condition(const Line& line, const std::string& name, std::size_t feature, std::uint64_t values);

  /// The feature of a value or group, and its values.
  std::pair<std::size_t, std::uint64_t> named_condition(const Line& line, const std::string& name) const;
  void read_variables(const Line& line);
  static bool is_variable(const std::string& name);
  void read_vowels(const Line& line);
  void read_contraction(const Line& line);
  Condition no_condition() const;

  /// Of "plural:masculine"; "any" is no condition.
  Condition parse_condition(const Line& line, const std::string& text) const;
  std::vector<Condition> parse_conditions(const Line& line, const Texts& texts) const;
  void find_start();

  void read_shape(const Section& section);
  std::vector<std::pair<Condition, std::string>> parse_categories(const Line& line, const Texts& texts) const;
  void read_words(const Section& section);
  Row parse_row(const Line& line, const Shape& shape) const;
  void require_number_of_forms(const Line& line, std::string_view side, std::size_t count,
                               const std::vector<std::vector<Condition>>& possible) const;
  Form parse_form(const Line& line, const std::string& text, const std::u32string& vowels) const;

  /// The words of "près_de/d'".
  std::vector<Word> parse_target_words(const Line& line, const std::string& text,
                                       const std::u32string& vowels) const;

  void read_symbol(const Section& section);
  void read_rules(const Section& section);
  Rule parse_rule(const Line& line, std::size_t symbol, const std::vector<Variable>& parameters);

  /// Returns its name.
  std::string add_item(const Line& line, const std::string& token, Rule& rule) const;

  /// Returns its place among the variables of the rule.
  std::size_t add_variable(const Line& line, const std::string& text, std::size_t sort, Rule& rule) const;
  TargetItem parse_target_item(const Line& line, const std::string& token, const Texts& source,
                               const Texts& names) const;

  /// The item that is written like `token`, or the only one of that name.
  std::size_t source_item(const Line& line, const std::string& token, const std::string& name,
                          const Texts& source, const Texts& names) const;

  /// Every source item becomes one target item, or is linked to another where it has no word of its own.
  void require_balance(const Line& line, const Texts& source, const Rule& rule) const;
  Bracket parse_bracket(const Line& line, const std::string& token) const;

  /// Of "(a b?)", or of nothing.
  Texts parse_sources(const Line& line, const std::string& text) const;

  /// The variable and its sort, and its allowed combinations, of "S:plural:animate".
  Variable parse_variable(const Line& line, const std::string& text) const;
  Combinations all_combinations(std::size_t sort) const;
  Combinations combinations(const Line& line, const std::string& name, std::size_t sort_index) const;

  GrammarText grammar_;
  std::vector<Section> sections_;
  std::map<std::string, std::pair<std::size_t, std::uint64_t>> named_conditions_;
  std::map<std::string, std::size_t> variables_;  ///< their sorts
  std::map<std::string, std::size_t> symbols_;
  std::vector<bool> has_rules_;
  std::u32string source_vowels_;
  std::u32string target_vowels_;
};

}  // namespace corpora
