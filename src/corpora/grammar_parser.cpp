#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <utility>

#include "attn/error.hpp"
#include "attn/lists.hpp"
#include "attn/text/spelling.hpp"
#include "attn/text/tokens.hpp"
#include "attn/text/trim.hpp"
#include "attn/text/utf8.hpp"
#include "attn/text/width.hpp"
#include "corpora/grammar.hpp"

namespace corpora {

Condition GrammarText::values(std::size_t symbol, const std::vector<std::size_t>& combinations) const {
  Condition values, known;
  for (std::size_t i = 0; i < combinations.size(); ++i) {
    const auto& sort = sorts[symbols[symbol].sorts[i]];
    values |= sort.combinations[combinations[i]] & ~known;
    for (const auto feature : sort.features) known |= features[feature].all;
  }
  return values;
}

void GrammarText::fail(std::size_t line, std::string_view problem, std::string_view valid) const {
  throw attn::Error(fmt::format("{}, line {}: {}; valid: {}", file_name, line, problem, valid));
}

namespace {

using attn::in_message;
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
  std::size_t symbol = 0;                 ///< of rules and words, as the next
  std::vector<Variable> parameters = {};  ///< of the symbol, as they stand here
};

/// A name in angle brackets with its arguments, and the (…) behind it.
struct Bracket {
  std::string name;
  Texts arguments;
  Texts sources;
};

constexpr std::string_view valid_headers =
    "a section at the start of a line: features, groups, variables, vowels, contractions, shape NAME, "
    "<nonterminal …> for rules or SHAPE <nonterminal …> for words";

bool is_space(char c) {
  return c == ' ' || c == '\t';
}

Texts tokens_of(std::string_view text) {
  Texts tokens;
  std::string token;
  char closing = '\0';
  for (const char c : text) {
    if (closing == '\0' && (is_space(c) || (c == '<' && !token.empty()))) {
      if (!token.empty()) tokens.push_back(std::exchange(token, {}));
      if (is_space(c)) continue;
    }
    token += is_space(c) ? ' ' : c;
    if (c == closing)
      closing = '\0';
    else if (closing == '\0' && (c == '<' || c == '('))
      closing = c == '<' ? '>' : ')';
  }
  if (!token.empty()) tokens.push_back(token);
  return tokens;
}

/// The keys of a map, or the names of a list.
template <class Items>
Texts names_of(const Items& items) {
  return attn::each_of(items, [](const auto& item) {
    if constexpr (requires { item.first; })
      return item.first;
    else
      return item.name;
  });
}

/// "a, b, c", or what to write in its place where there is none.
std::string list(const Texts& texts, const char* where_empty = "") {
  return texts.empty() ? where_empty : fmt::format("{}", fmt::join(texts, ", "));
}

/// What stands before the first such token and behind it; nothing is behind where it is not there.
std::pair<Texts, Texts> cut_at(std::string_view token, const Texts& tokens) {
  const auto found = std::find(tokens.begin(), tokens.end(), token);
  return {{tokens.begin(), found}, {found == tokens.end() ? found : found + 1, tokens.end()}};
}

std::vector<Section> read_sections(const std::string& text, const GrammarText& grammar) {
  std::vector<Section> sections;
  std::size_t number = 0, indent = 0;
  for (auto content : attn::split(text, '\n')) {
    ++number;
    content = content.substr(0, content.find('#'));
    while (!content.empty() && (is_space(content.back()) || content.back() == '\r')) content.pop_back();
    if (content.empty()) continue;
    Line line{number, content, tokens_of(content)};
    if (!is_space(content.front()))
      sections.push_back({std::move(line), {}});
    else if (sections.empty())
      grammar.fail(line.number, "an indented line comes before the first section", valid_headers);
    else if (auto& lines = sections.back().lines;
             !lines.empty() &&
             (line.tokens[0] == "=" || content.find_first_not_of(" \t") > indent)) {  // goes on
      lines.back().text += line.text;
      lines.back().tokens.insert(lines.back().tokens.end(), line.tokens.begin(), line.tokens.end());
    } else {
      indent = content.find_first_not_of(" \t");
      lines.push_back(std::move(line));
    }
  }
  if (sections.empty())
    throw attn::Error(
        fmt::format("{} is empty: it has no rule; valid: {}", grammar.file_name, valid_headers));
  for (const auto& section : sections)
    if (section.lines.empty())
      grammar.fail(section.header.number, fmt::format("{} has no lines", in_message(section.header.text)),
                   "indented lines below it");
  return sections;
}

bool is_bracket(const std::string& token) {
  return token.starts_with('<');
}

bool begins_rules(const Section& section) {
  return is_bracket(section.header.tokens[0]);
}

bool begins_words(const Section& section) {
  return section.header.tokens.size() == 2 && is_bracket(section.header.tokens[1]);
}

bool begins_shape(const Section& section) {
  const auto& tokens = section.header.tokens;
  return tokens.size() == 2 && tokens[0] == "shape" && !is_bracket(tokens[1]);
}

constexpr std::string_view valid_rule = "[WEIGHT] <a> <b> … = <b> word(a) …, or without = for the same order";

/// Reads a grammar's file: first what is declared, then the words, then the rules, so that each may stand
/// anywhere. Every error is an Error that names the file, the line and what would be valid.
class GrammarParser {
 public:
  GrammarParser(std::string_view text, std::string_view file_name) {
    grammar_.file_name = file_name;
    attn::require_valid_utf8(text, file_name);
    sections_ = read_sections(attn::nfc(text), grammar_);
  }

  GrammarText parse() {
    for (const auto read :
         {&GrammarParser::read_declarations, &GrammarParser::read_shape, &GrammarParser::read_symbol,
          &GrammarParser::read_words, &GrammarParser::read_rules})
      for (auto& section : sections_) (this->*read)(section);
    find_start();
    return std::move(grammar_);
  }

 private:
  template <class... Args>
  [[noreturn]] void fail(const Line& line, std::string_view valid, fmt::format_string<Args...> problem,
                         Args&&... args) const {
    grammar_.fail(line.number, fmt::format(problem, std::forward<Args>(args)...), valid);
  }

  void read_declarations(Section& section) {
    const auto& tokens = section.header.tokens;
    if (begins_rules(section) && tokens.size() > 1)
      fail(section.header, valid_headers, "{} follows the nonterminal", in_message(tokens[1]));
    if (begins_rules(section) || begins_words(section) || begins_shape(section)) return;
    if (tokens.size() != 1) fail(section.header, valid_headers, "this is no section");
    static const std::map<std::string, void (GrammarParser::*)(const Line&)> readers = {
        {"features", &GrammarParser::read_feature},
        {"groups", &GrammarParser::read_group},
        {"variables", &GrammarParser::read_variables},
        {"vowels", &GrammarParser::read_vowels},
        {"contractions", &GrammarParser::read_contraction}};
    const auto* reader = attn::value_in(readers, tokens[0]);
    if (reader == nullptr) fail(section.header, valid_headers, "{} is no section", in_message(tokens[0]));
    for (const auto& line : section.lines) (this->**reader)(line);
  }

  /// The words on both sides of the first "=", which is there.
  std::pair<Texts, Texts> sides(const Line& line, std::string_view valid) const {
    if (std::count(line.tokens.begin(), line.tokens.end(), "=") != 1)
      fail(line, valid, "the line has not one = between its two sides");
    auto result = cut_at("=", line.tokens);
    if (result.first.empty() || result.second.empty()) fail(line, valid, "nothing stands on one side of =");
    return result;
  }

  void read_feature(const Line& line) {
    constexpr std::string_view valid = "FEATURE = VALUE VALUE …, all of other names";
    const auto [left, right] = sides(line, valid);
    if (left.size() != 1) fail(line, valid, "a feature has one name");
    auto& feature = grammar_.features.emplace_back(Feature{left[0], {}});
    for (const auto& name : right) {
      if (values_ == most_values)
        fail(line, fmt::format("at most {}", most_values), "the features have too many values");
      const auto& value = feature.values.emplace_back(Condition().set(values_++));
      feature.all |= value;
      add_condition(line, name, grammar_.features.size() - 1, value);
    }
  }

  void read_group(const Line& line) {
    constexpr std::string_view valid = "GROUP = VALUE VALUE …, values of one feature";
    const auto [left, right] = sides(line, valid);
    if (left.size() != 1) fail(line, valid, "a group has one name");
    const auto feature = named_condition(line, right[0]).first;
    Condition values;
    for (const auto& name : right) {
      const auto condition = named_condition(line, name);
      if (condition.first != feature) fail(line, valid, "{} is of another feature", in_message(name));
      values |= condition.second;
    }
    add_condition(line, left[0], feature, values);
  }

  void add_condition(const Line& line, const std::string& name, std::size_t feature,
                     const Condition& values) {
    if (!named_conditions_.emplace(name, std::pair(feature, values)).second)
      fail(line, "a name for one value or group only", "{} is there already", in_message(name));
  }

  /// The feature of a value or group, and its values.
  std::pair<std::size_t, Condition> named_condition(const Line& line, const std::string& name) const {
    place_of(line, named_conditions_, name, "value of a feature", "those of a section features");
    return named_conditions_.at(name);
  }

  void read_variables(const Line& line) {
    constexpr std::string_view valid = "VARIABLE … = FEATURE …, variables of capital letters";
    const auto [left, right] = sides(line, valid);
    Sort sort;
    for (const auto& name : right) {
      const auto feature = place_of(line, grammar_.features, name, "feature", "those of a section features");
      sort.features.push_back(feature);
      std::vector<Condition> combinations;
      for (const auto& combination : sort.combinations)
        for (const auto& value : grammar_.features[feature].values)
          combinations.push_back(combination | value);
      sort.combinations = std::move(combinations);
      if (sort.combinations.size() > most_combinations)
        fail(line, fmt::format("at most {}", most_combinations), "the features have too many combinations");
    }
    for (const auto& name : left) {
      if (!is_variable(name)) fail(line, valid, "{} is no variable", in_message(name));
      if (!variables_.emplace(name, grammar_.sorts.size()).second)
        fail(line, "another letter", "{} is there already", in_message(name));
    }
    grammar_.sorts.push_back(std::move(sort));
  }

  /// The place of the item of that name.
  template <class Items>
  std::size_t place_of(const Line& line, const Items& items, const std::string& name, const char* kind,
                       const char* where_empty) const {
    const auto names = names_of(items);
    const auto place = attn::place_of(name, names);
    if (place == names.size()) fail(line, list(names, where_empty), "{} is no {}", in_message(name), kind);
    return place;
  }

  static bool is_variable(const std::string& name) {
    return attn::all_of(name, [](char c) { return c >= 'A' && c <= 'Z'; });
  }

  void read_vowels(const Line& line) {
    constexpr std::string_view valid = "source = a e …, or target = a e …";
    const auto [left, right] = sides(line, valid);
    if (left.size() != 1 || (left[0] != "source" && left[0] != "target"))
      fail(line, valid, "{} has no vowels", in_message(left[0]));
    auto& vowels = left[0] == "source" ? source_vowels_ : target_vowels_;
    for (const auto& letter : right) {
      const auto code_points = attn::code_points(letter);
      if (code_points.size() != 1) fail(line, valid, "{} is not one letter", in_message(letter));
      vowels += code_points;
    }
  }

  void read_contraction(const Line& line) {
    constexpr std::string_view valid = "WORD WORD = WORD";
    const auto [left, right] = sides(line, valid);
    if (left.size() != 2 || right.size() != 1) fail(line, valid, "two words become one");
    grammar_.contractions[{left[0], left[1]}] = right[0];
  }

  /// Of "plural:masculine"; "any" is no condition.
  Condition parse_condition(const Line& line, const std::string& text) const {
    auto condition = ~Condition();
    if (text == "any") return condition;
    for (const auto& name : attn::split(text, ':')) {
      const auto [feature, values] = named_condition(line, name);
      condition &= values | ~grammar_.features[feature].all;
    }
    return condition;
  }

  std::vector<Condition> parse_conditions(const Line& line, const Texts& texts) const {
    return attn::each_of(texts, [&](const auto& text) { return parse_condition(line, text); });
  }

  void find_start() {
    const auto start = symbols_.find("sentence");
    if (start == symbols_.end() || !grammar_.symbols[start->second].has_rules)
      throw attn::Error(
          fmt::format("{} has no section <sentence>; valid: rules that begin there", grammar_.file_name));
    grammar_.start = start->second;
    const auto& symbol = grammar_.symbols[grammar_.start];
    if (!symbol.sorts.empty()) grammar_.fail(symbol.line, "<sentence> has variables", "<sentence>");
  }

  void read_shape(Section& section) {
    if (!begins_shape(section)) return;
    constexpr std::string_view valid =
        "category NAME, category CONDITION … = NAME …, source CONDITION …, target CONDITION … and decides, "
        "each on its line";
    Shape shape{section.header.tokens[1], section.header.number, false, {}, {}, {}};
    for (const auto& line : section.lines) {
      const Texts rest(line.tokens.begin() + 1, line.tokens.end());
      if (line.tokens[0] == "decides" && rest.empty())
        shape.decides = true;
      else if (line.tokens[0] == "category" && !rest.empty())
        shape.categories = parse_categories(line, rest);
      else if ((line.tokens[0] == "source" || line.tokens[0] == "target") && !rest.empty())
        (line.tokens[0] == "source" ? shape.source : shape.target).push_back(parse_conditions(line, rest));
      else
        fail(line, valid, "{} tells nothing about a shape", in_message(line.text));
    }
    if (shape.categories.empty()) fail(section.header, valid, "the shape {} has no category", shape.name);
    grammar_.shapes.push_back(std::move(shape));
  }

  std::vector<std::pair<Condition, std::string>> parse_categories(const Line& line,
                                                                  const Texts& texts) const {
    if (texts.size() == 1) return {{~Condition(), texts[0]}};
    const auto [left, names] = cut_at("=", texts);
    const auto conditions = parse_conditions(line, left);
    if (names.size() != conditions.size())
      fail(line, "category CONDITION … = NAME …, as many of each",
           "there is not one name for each condition");
    std::vector<std::pair<Condition, std::string>> categories;
    for (std::size_t i = 0; i < conditions.size(); ++i) categories.emplace_back(conditions[i], names[i]);
    return categories;
  }

  void read_words(Section& section) {
    if (!begins_words(section)) return;
    const auto& header = section.header;
    const auto place =
        place_of(header, grammar_.shapes, header.tokens[0], "shape", "those of sections shape NAME");
    const auto& shape = grammar_.shapes[place];
    Table table{header.number, section.symbol, place, {}, {}};
    for (const auto& parameter : section.parameters) table.allowed.push_back(parameter.allowed);
    if (shape.decides) {
      const auto& sorts = grammar_.symbols[table.symbol].sorts;
      if (sorts.size() != 1)
        fail(header, "one variable", "the words of <{}> decide {} variables",
             grammar_.symbols[table.symbol].name, sorts.size());
      grammar_.sorts[sorts[0]].is_decided = true;
    }
    for (const auto& line : section.lines) table.rows.push_back(parse_row(line, shape));
    grammar_.tables.push_back(std::move(table));
  }

  Row parse_row(const Line& line, const Shape& shape) const {
    constexpr std::string_view valid =
        "SOURCE FORM … = TARGET FORM …, then : VALUE … where the word has some";
    const auto [source, right] = sides(line, valid);
    const auto [target, values] = cut_at(":", right);
    Row row{line.number, {}, {}, ~Condition()};
    for (const auto& value : values) row.condition &= parse_condition(line, value);
    for (const auto& text : source) row.source.push_back(parse_form(line, text, source_vowels_));
    for (const auto& text : target) row.target.push_back(parse_form(line, text, target_vowels_));
    require_number_of_forms(line, "source", source.size(), shape.source);
    require_number_of_forms(line, "target", target.size(), shape.target);
    for (const auto& form : row.source)
      if (form && (form->size() != 1 || is_joined((*form)[0].text)))
        fail(line, "one word, as a sentence has it between spaces", "a source form is not one word");
    return row;
  }

  void require_number_of_forms(const Line& line, std::string_view side, std::size_t count,
                               const std::vector<std::vector<Condition>>& possible) const {
    std::vector<std::size_t> counts{1};
    for (const auto& conditions : possible) counts.push_back(conditions.size());
    if (!attn::contains(counts, count))
      fail(line, fmt::format("{} by its shape", fmt::join(counts, " or ")), "the {} side has {} forms", side,
           count);
  }

  Form parse_form(const Line& line, const std::string& text, const std::u32string& vowels) const {
    if (text == "-") return std::nullopt;
    if (text == "()") return std::vector<Word>{};
    return parse_target_words(line, text, vowels);
  }

  /// The words of "près_de/d'".
  std::vector<Word> parse_target_words(const Line& line, const std::string& text,
                                       const std::u32string& vowels) const {
    std::vector<Word> words;
    for (auto part : attn::split(text, '_')) {
      const bool is_barred = part.starts_with('*');
      if (is_barred) part.erase(0, 1);
      const auto forms = attn::split(part, '/');
      if (forms.size() > 2 || attn::contains(forms, "") || part.find_first_of("<>()*:=") != part.npos)
        fail(line, "word, two_words, before/before' a vowel, or *word where it begins with none by its sound",
             "{} is no word", in_message(text));
      const auto first = attn::code_points(forms[0]).front();
      words.push_back(
          {forms[0], forms.size() == 2 ? forms[1] : "", !is_barred && vowels.find(first) != vowels.npos});
    }
    return words;
  }

  void read_symbol(Section& section) {
    if (!begins_rules(section) && !begins_words(section)) return;
    const auto& line = section.header;
    const auto bracket = parse_bracket(line, line.tokens.back());
    Symbol symbol{bracket.name, line.number, {}, begins_rules(section)};
    for (const auto& argument : bracket.arguments) {
      const auto& variable = section.parameters.emplace_back(parse_variable(line, argument));
      symbol.sorts.push_back(variable.sort);
    }
    const auto [known, is_new] = symbols_.emplace(symbol.name, grammar_.symbols.size());
    section.symbol = known->second;
    if (is_new) return grammar_.symbols.push_back(std::move(symbol));
    const auto& first = grammar_.symbols[section.symbol];
    if (first.has_rules || symbol.has_rules)
      fail(line, "one section for the rules of a nonterminal, or several tables of words",
           "<{}> begins on line {} already", symbol.name, first.line);
    if (first.sorts != symbol.sorts)
      fail(line, "the same in each table", "<{}> has other variables than on line {}", symbol.name,
           first.line);
  }

  void read_rules(Section& section) {
    if (!begins_rules(section)) return;
    std::set<std::string> names;
    for (const auto& parameter : section.parameters)
      if (!names.insert(parameter.name).second)
        fail(section.header, "another variable", "{} stands there twice", parameter.name);
    for (const auto& line : section.lines) grammar_.rules.push_back(parse_rule(line, section));
  }

  Rule parse_rule(const Line& line, const Section& section) const {
    Rule rule{line.number, 1.0, section.symbol, section.parameters, {}, {}};
    auto tokens = line.tokens;
    if (const auto weight = attn::parse_number(tokens[0])) {
      if (!(*weight > 0)) fail(line, "a weight above 0", "the weight is {}", tokens[0]);
      rule.weight = *weight;
      tokens.erase(tokens.begin());
    }
    const auto [source, target] = cut_at("=", tokens);
    if (source.empty()) fail(line, valid_rule, "the source side is empty");
    for (const auto& token : source) add_item(line, token, rule);
    for (const auto& token : target) rule.target.push_back(parse_target_item(line, token, source, rule));
    if (source.size() == tokens.size())
      for (std::size_t i = 0; i < source.size(); ++i) rule.target.push_back({i, {}, {}});
    require_balance(line, source, rule);
    return rule;
  }

  void add_item(const Line& line, const std::string& token, Rule& rule) const {
    if (!is_bracket(token))
      fail(line, "<nonterminals>, whose words stand in tables", "the source side has the bare word {}",
           in_message(token));
    const auto bracket = parse_bracket(line, token);
    if (!bracket.sources.empty())
      fail(line, valid_rule, "{} has links on the source side", in_message(token));
    const auto known = symbols_.find(bracket.name);
    if (known == symbols_.end())
      fail(line,
           fmt::format("<{}>, or a section that begins with it",
                       attn::likely_meant(bracket.name, names_of(symbols_))),
           "<{}> is no nonterminal of this file", bracket.name);
    Item item{known->second, {}};
    const auto& symbol = grammar_.symbols[item.symbol];
    if (bracket.arguments.size() != symbol.sorts.size())
      fail(line, fmt::format("{}, as on line {}", symbol.sorts.size(), symbol.line), "{} has {} variables",
           in_message(token), bracket.arguments.size());
    for (std::size_t i = 0; i < symbol.sorts.size(); ++i)
      item.variables.push_back(add_variable(line, bracket.arguments[i], symbol.sorts[i], rule));
    rule.source.push_back(std::move(item));
  }

  /// Returns its place among the variables of the rule.
  std::size_t add_variable(const Line& line, const std::string& text, std::size_t sort, Rule& rule) const {
    if (const auto names = attn::split(text, ':'); !is_variable(names[0])) {
      rule.variables.push_back({"", sort, combinations(line, names, sort)});
      return rule.variables.size() - 1;
    }
    const auto variable = parse_variable(line, text);
    if (variable.sort != sort)
      fail(line, "a variable as in the section of the nonterminal",
           "the variable {} has other features than the nonterminal asks for", variable.name);
    const auto place = attn::place_of(variable.name, names_of(rule.variables));
    if (place == rule.variables.size()) rule.variables.push_back(variable);
    rule.variables[place].allowed &= variable.allowed;
    return place;
  }

  TargetItem parse_target_item(const Line& line, const std::string& token, const Texts& source,
                               const Rule& rule) const {
    TargetItem result;
    Texts links;
    if (is_bracket(token)) {
      const auto bracket = parse_bracket(line, token);
      links = bracket.sources;
      result.item = source_item(line, token.substr(0, token.find('>') + 1), bracket.name, source, rule);
    } else {
      const auto parenthesis = std::min(token.find('('), token.size());
      links = parse_sources(line, token.substr(parenthesis));
      if (links.empty())
        fail(line, fmt::format("{}({})", token, name_of(rule.source[0])), "nothing tells where {} comes from",
             in_message(token));
      result.words = parse_target_words(line, token.substr(0, parenthesis), target_vowels_);
    }
    for (auto name : links) {
      const bool is_sure = !name.ends_with('?');
      if (!is_sure) name.pop_back();
      result.links.push_back({source_item(line, '<' + name + '>', name, source, rule), is_sure});
    }
    return result;
  }

  const std::string& name_of(const Item& item) const { return grammar_.symbols[item.symbol].name; }

  /// The item that is written like `token`, or the only one of that name.
  std::size_t source_item(const Line& line, const std::string& token, const std::string& name,
                          const Texts& source, const Rule& rule) const {
    if (const auto same = attn::place_of(token, source); same < source.size()) return same;
    std::vector<std::size_t> called_so;
    for (std::size_t i = 0; i < rule.source.size(); ++i)
      if (name_of(rule.source[i]) == name) called_so.push_back(i);
    const auto count = called_so.size();
    if (count == 0) fail(line, "what stands on the source side", "<{}> is on the target side only", name);
    if (count > 1)
      fail(line, "the same variables as there", "<{}> is {} times on the source side", name, count);
    return called_so[0];
  }

  /// Every source item becomes one target item, or is linked to another where it has no word of its own.
  void require_balance(const Line& line, const Texts& source, const Rule& rule) const {
    std::vector<std::size_t> uses(source.size(), 0);
    std::vector<bool> is_linked(source.size(), false);
    for (const auto& target : rule.target) {
      if (target.item) ++uses[*target.item];
      for (const auto& link : target.links) is_linked[link.item] = true;
    }
    for (std::size_t i = 0; i < source.size(); ++i) {
      if (uses[i] > 1) fail(line, "once", "{} is {} times on the target side", source[i], uses[i]);
      if (uses[i] == 0 && !is_linked[i])
        fail(line,
             fmt::format("{}, or a word that comes from it: word({})", source[i], name_of(rule.source[i])),
             "{} has nothing on the target side", source[i]);
      if (uses[i] == 0 && grammar_.symbols[rule.source[i].symbol].has_rules)
        fail(line, source[i], "{} has rules and is only linked on the target side", source[i]);
    }
  }

  Bracket parse_bracket(const Line& line, const std::string& token) const {
    constexpr std::string_view valid = "<name>, <name X> or <name X:value value>";
    const auto end = token.find('>');
    if (end == token.npos) fail(line, valid, "{} is not closed", in_message(token));
    const auto words = attn::words_in(std::string_view(token).substr(1, end - 1));
    if (words.empty()) fail(line, valid, "{} has no name", in_message(token));
    return {
        std::string(words[0]), {words.begin() + 1, words.end()}, parse_sources(line, token.substr(end + 1))};
  }

  /// Of "(a b?)", or of nothing.
  Texts parse_sources(const Line& line, const std::string& text) const {
    if (text.empty()) return {};
    if (text.size() < 3 || text.front() != '(' || text.back() != ')')
      fail(line, "(a) or (a b?), names of the source side, with ? where the link is possible only",
           "{} does not tell where a word comes from", in_message(text));
    const auto words = attn::words_in(std::string_view(text).substr(1, text.size() - 2));
    return {words.begin(), words.end()};
  }

  /// The variable and its sort, and its allowed combinations, of "S:plural:animate".
  Variable parse_variable(const Line& line, const std::string& text) const {
    auto parts = attn::split(text, ':');
    const auto name = parts[0];
    place_of(line, variables_, name, "variable", "those of a section variables");
    parts.erase(parts.begin());
    const auto sort = variables_.at(name);
    return {name, sort, combinations(line, parts, sort)};
  }

  /// Those of a sort that have a value, or one of a group, for each of the names.
  Combinations combinations(const Line& line, const Texts& names, std::size_t sort_index) const {
    const auto& sort = grammar_.sorts[sort_index];
    auto result = ~Combinations{0} >> (most_combinations - sort.combinations.size());
    for (const auto& name : names) {
      const auto [feature, values] = named_condition(line, name);
      if (!attn::contains(sort.features, feature)) {
        const auto own = attn::each_of(sort.features, [&](auto one) { return grammar_.features[one].name; });
        fail(line, fmt::format("a value of {}", list(own)), "{} is a {}, which the variable does not have",
             in_message(name), grammar_.features[feature].name);
      }
      for (std::size_t i = 0; i < sort.combinations.size(); ++i)
        if ((values & sort.combinations[i]).none()) result &= ~(Combinations{1} << i);
    }
    return result;
  }

  GrammarText grammar_;
  std::vector<Section> sections_;
  std::size_t values_ = 0;  ///< of all features
  std::map<std::string, std::pair<std::size_t, Condition>> named_conditions_;
  std::map<std::string, std::size_t> variables_;  ///< their sorts
  std::map<std::string, std::size_t> symbols_;
  std::u32string source_vowels_;
  std::u32string target_vowels_;
};

}  // namespace

GrammarText parse_grammar(std::string_view text, std::string_view file_name) {
  return GrammarParser(text, file_name).parse();
}

}  // namespace corpora
