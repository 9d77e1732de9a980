#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "attn/text/number.hpp"
#include "attn/text/spelling.hpp"
#include "corpora/grammar_parser.hpp"

namespace corpora {

namespace {

constexpr std::string_view valid_rule = "[WEIGHT] <a> <b> … = <b> word(a) …, or without = for the same order";

}  // namespace

void GrammarParser::read_symbol(const Section& section) {
  if (!begins_rules(section) && !begins_words(section)) return;
  const auto& line = section.header;
  const auto bracket = parse_bracket(line, line.tokens.back());
  Symbol symbol{bracket.name, line.number, {}};
  for (const auto& argument : bracket.arguments) symbol.sorts.push_back(parse_variable(line, argument).sort);
  const auto known = symbols_.find(symbol.name);
  if (known == symbols_.end()) {
    symbols_.emplace(symbol.name, grammar_.symbols.size());
    has_rules_.push_back(begins_rules(section));
    grammar_.symbols.push_back(std::move(symbol));
    return;
  }
  const auto& first = grammar_.symbols[known->second];
  if (has_rules_[known->second] || begins_rules(section))
    fail(line, fmt::format("<{}> begins on line {} already", symbol.name, first.line),
         "one section for the rules of a nonterminal, or several tables of words");
  if (first.sorts != symbol.sorts)
    fail(line, fmt::format("<{}> has other variables than on line {}", symbol.name, first.line),
         "the same in each table");
}

void GrammarParser::read_rules(const Section& section) {
  if (!begins_rules(section)) return;
  const auto bracket = parse_bracket(section.header, section.header.tokens[0]);
  std::vector<Variable> parameters;
  for (const auto& argument : bracket.arguments) {
    const auto variable = parse_variable(section.header, argument);
    if (std::any_of(parameters.begin(), parameters.end(),
                    [&](const Variable& other) { return other.name == variable.name; }))
      fail(section.header, fmt::format("{} stands there twice", variable.name), "another variable");
    parameters.push_back(variable);
  }
  for (const auto& line : section.lines)
    grammar_.rules.push_back(parse_rule(line, symbols_.at(bracket.name), parameters));
}

Rule GrammarParser::parse_rule(const Line& line, std::size_t symbol,
                               const std::vector<Variable>& parameters) {
  Rule rule{line.number, 1.0, symbol, parameters, {}, {}};
  auto tokens = line.tokens;
  if (const auto weight = attn::parse_number(tokens[0])) {
    if (!(*weight > 0)) fail(line, fmt::format("the weight is {}", tokens[0]), "a weight above 0");
    rule.weight = *weight;
    tokens.erase(tokens.begin());
  }
  const auto equals = std::find(tokens.begin(), tokens.end(), "=");
  const Texts source(tokens.begin(), equals);
  if (source.empty()) fail(line, "the source side is empty", valid_rule);
  Texts names;
  for (const auto& token : source) names.push_back(add_item(line, token, rule));
  if (equals == tokens.end())
    for (std::size_t i = 0; i < source.size(); ++i) rule.target.push_back({i, {}, {}});
  else
    for (auto token = equals + 1; token != tokens.end(); ++token)
      rule.target.push_back(parse_target_item(line, *token, source, names));
  require_balance(line, source, rule);
  return rule;
}

std::string GrammarParser::add_item(const Line& line, const std::string& token, Rule& rule) const {
  if (!is_bracket(token))
    fail(line, fmt::format("the source side has the bare word {}", in_quotes(token)),
         "<nonterminals>, whose words stand in tables");
  const auto bracket = parse_bracket(line, token);
  if (!bracket.sources.empty())
    fail(line, fmt::format("{} has links on the source side", in_quotes(token)), valid_rule);
  const auto known = symbols_.find(bracket.name);
  if (known == symbols_.end()) {
    Texts names;
    for (const auto& symbol : symbols_) names.push_back(symbol.first);
    fail(line, fmt::format("<{}> is no nonterminal of this file", bracket.name),
         fmt::format("<{}>, or a section that begins with it", attn::likely_meant(bracket.name, names)));
  }
  Item item{known->second, {}};
  const auto& symbol = grammar_.symbols[item.symbol];
  if (bracket.arguments.size() != symbol.sorts.size())
    fail(line, fmt::format("{} has {} variables", in_quotes(token), bracket.arguments.size()),
         fmt::format("{}, as on line {}", symbol.sorts.size(), symbol.line));
  for (std::size_t i = 0; i < symbol.sorts.size(); ++i)
    item.variables.push_back(add_variable(line, bracket.arguments[i], symbol.sorts[i], rule));
  rule.source.push_back(std::move(item));
  return bracket.name;
}

std::size_t GrammarParser::add_variable(const Line& line, const std::string& text, std::size_t sort,
                                        Rule& rule) const {
  if (!is_variable(cut(text, ':')[0])) {
    auto allowed = all_combinations(sort);
    for (const auto& name : cut(text, ':')) allowed &= combinations(line, name, sort);
    rule.variables.push_back({"", sort, allowed});
    return rule.variables.size() - 1;
  }
  const auto variable = parse_variable(line, text);
  if (variable.sort != sort)
    fail(line, fmt::format("the variable {} has other features than the nonterminal asks for", variable.name),
         "a variable as in the section of the nonterminal");
  for (std::size_t i = 0; i < rule.variables.size(); ++i) {
    if (rule.variables[i].name != variable.name) continue;
    rule.variables[i].allowed &= variable.allowed;
    return i;
  }
  rule.variables.push_back(variable);
  return rule.variables.size() - 1;
}

TargetItem GrammarParser::parse_target_item(const Line& line, const std::string& token, const Texts& source,
                                            const Texts& names) const {
  TargetItem result;
  Texts links;
  if (is_bracket(token)) {
    const auto bracket = parse_bracket(line, token);
    links = bracket.sources;
    result.item = source_item(line, token.substr(0, token.find('>') + 1), bracket.name, source, names);
  } else {
    const auto parenthesis = std::min(token.find('('), token.size());
    links = parse_sources(line, token.substr(parenthesis));
    if (links.empty())
      fail(line, fmt::format("nothing tells where {} comes from", in_quotes(token)),
           fmt::format("{}({})", token, names[0]));
    result.words = parse_target_words(line, token.substr(0, parenthesis), target_vowels_);
  }
  for (auto name : links) {
    const bool is_sure = !name.ends_with('?');
    if (!is_sure) name.pop_back();
    result.links.push_back({source_item(line, '<' + name + '>', name, source, names), is_sure});
  }
  return result;
}

std::size_t GrammarParser::source_item(const Line& line, const std::string& token, const std::string& name,
                                       const Texts& source, const Texts& names) const {
  const auto same = std::find(source.begin(), source.end(), token);
  if (same != source.end()) return static_cast<std::size_t>(same - source.begin());
  const auto count = std::count(names.begin(), names.end(), name);
  if (count != 1)
    fail(line,
         count == 0 ? fmt::format("<{}> is on the target side only", name)
                    : fmt::format("<{}> is {} times on the source side", name, count),
         count == 0 ? "what stands on the source side" : "the same variables as there");
  return static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin());
}

void GrammarParser::require_balance(const Line& line, const Texts& source, const Rule& rule) const {
  std::vector<std::size_t> uses(source.size(), 0);
  std::vector<bool> is_linked(source.size(), false);
  for (const auto& target : rule.target) {
    if (target.item) ++uses[*target.item];
    for (const auto& link : target.links) is_linked[link.item] = true;
  }
  for (std::size_t i = 0; i < source.size(); ++i) {
    if (uses[i] > 1) fail(line, fmt::format("{} is {} times on the target side", source[i], uses[i]), "once");
    if (uses[i] == 0 && !is_linked[i])
      fail(line, fmt::format("{} has nothing on the target side", source[i]),
           fmt::format("{}, or a word that comes from it: word({})", source[i],
                       grammar_.symbols[rule.source[i].symbol].name));
    if (uses[i] == 0 && has_rules_[rule.source[i].symbol])
      fail(line, fmt::format("{} has rules and is only linked on the target side", source[i]), source[i]);
  }
}

Bracket GrammarParser::parse_bracket(const Line& line, const std::string& token) const {
  constexpr std::string_view valid = "<name>, <name X> or <name X:value value>";
  const auto end = token.find('>');
  if (end == token.npos) fail(line, fmt::format("{} is not closed", in_quotes(token)), valid);
  auto words = words_of(token.substr(1, end - 1));
  if (words.empty()) fail(line, fmt::format("{} has no name", in_quotes(token)), valid);
  Bracket bracket{words[0], {words.begin() + 1, words.end()}, {}};
  bracket.sources = parse_sources(line, token.substr(end + 1));
  return bracket;
}

Texts GrammarParser::parse_sources(const Line& line, const std::string& text) const {
  if (text.empty()) return {};
  if (text.size() < 3 || text.front() != '(' || text.back() != ')')
    fail(line, fmt::format("{} does not tell where a word comes from", in_quotes(text)),
         "(a) or (a b?), names of the source side, with ? where the link is possible only");
  return words_of(text.substr(1, text.size() - 2));
}

Variable GrammarParser::parse_variable(const Line& line, const std::string& text) const {
  auto parts = cut(text, ':');
  const auto known = variables_.find(parts[0]);
  if (known == variables_.end()) {
    Texts names;
    for (const auto& variable : variables_) names.push_back(variable.first);
    fail(line, fmt::format("{} is no variable", in_quotes(parts[0])),
         names.empty() ? "those of a section variables" : list(names));
  }
  Variable variable{parts[0], known->second, all_combinations(known->second)};
  parts.erase(parts.begin());
  for (const auto& part : parts) variable.allowed &= combinations(line, part, variable.sort);
  return variable;
}

Combinations GrammarParser::all_combinations(std::size_t sort) const {
  const auto count = grammar_.sorts[sort].combinations;
  return count == 64 ? ~Combinations{0} : (Combinations{1} << count) - 1;
}

Combinations GrammarParser::combinations(const Line& line, const std::string& name,
                                         std::size_t sort_index) const {
  const auto& sort = grammar_.sorts[sort_index];
  const auto [feature, values] = named_condition(line, name);
  if (std::find(sort.features.begin(), sort.features.end(), feature) == sort.features.end()) {
    Texts names;
    for (const auto index : sort.features) names.push_back(grammar_.features[index].name);
    fail(line,
         fmt::format("{} is a {}, which the variable does not have", in_quotes(name),
                     grammar_.features[feature].name),
         fmt::format("a value of {}", list(names)));
  }
  Combinations result = 0;
  auto condition = no_condition();
  condition[feature] = values;
  for (std::size_t i = 0; i < sort.combinations; ++i)
    if (grammar_.satisfies(sort, i, condition)) result |= Combinations{1} << i;
  return result;
}

}  // namespace corpora
