#include "corpora/grammar_parser.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "attn/error.hpp"
#include "attn/text/utf8.hpp"
#include "attn/text/width.hpp"

namespace corpora {

const std::string_view valid_headers =
    "a section at the start of a line: features, groups, variables, vowels, contractions, shape NAME, "
    "<nonterminal …> for rules or SHAPE <nonterminal …> for words";

namespace {

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

std::size_t indent_of(const std::string& line) {
  return line.find_first_not_of(" \t");
}

void continue_line(Line& line, const Line& rest) {
  line.text += rest.text;
  line.tokens.insert(line.tokens.end(), rest.tokens.begin(), rest.tokens.end());
}

}  // namespace

std::string in_quotes(std::string_view text) {
  return attn::shorten(fmt::format("{:?}", text.substr(0, 200)), 60);
}

std::string list(const Texts& texts) {
  return fmt::format("{}", fmt::join(texts, ", "));
}

Texts cut(std::string_view text, char separator) {
  Texts parts(1);
  for (const char c : text) {
    if (c == separator)
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

Texts words_of(std::string_view text) {
  auto parts = cut(text, ' ');
  parts.erase(std::remove(parts.begin(), parts.end(), ""), parts.end());
  return parts;
}

std::vector<Section> read_sections(const std::string& text, const GrammarText& grammar) {
  std::vector<Section> sections;
  std::size_t number = 0, indent = 0;
  for (auto content : cut(text, '\n')) {
    ++number;
    content = content.substr(0, content.find('#'));
    while (!content.empty() && (is_space(content.back()) || content.back() == '\r')) content.pop_back();
    if (content.empty()) continue;
    Line line{number, content, tokens_of(content)};
    if (!is_space(content.front()))
      sections.push_back({std::move(line), {}});
    else if (sections.empty())
      grammar.fail(line.number, "an indented line comes before the first section", valid_headers);
    else if (!sections.back().lines.empty() && (line.tokens[0] == "=" || indent_of(content) > indent))
      continue_line(sections.back().lines.back(), line);
    else {
      indent = indent_of(content);
      sections.back().lines.push_back(std::move(line));
    }
  }
  if (sections.empty())
    throw attn::Error(
        fmt::format("{} is empty: it has no rule; valid: {}", grammar.file_name, valid_headers));
  for (const auto& section : sections)
    if (section.lines.empty())
      grammar.fail(section.header.number, fmt::format("{} has no lines", in_quotes(section.header.text)),
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

GrammarParser::GrammarParser(std::string_view text, std::string_view file_name) {
  grammar_.file_name = file_name;
  attn::require_valid_utf8(text, file_name);
  sections_ = read_sections(attn::nfc(text), grammar_);
}

GrammarText GrammarParser::parse() {
  for (const auto& section : sections_) read_declarations(section);
  for (const auto& section : sections_) read_shape(section);
  for (const auto& section : sections_) read_symbol(section);
  for (const auto& section : sections_) read_words(section);
  for (const auto& section : sections_) read_rules(section);
  find_start();
  return std::move(grammar_);
}

void GrammarParser::fail(const Line& line, std::string_view problem, std::string_view valid) const {
  grammar_.fail(line.number, problem, valid);
}

void GrammarParser::read_declarations(const Section& section) {
  const auto& tokens = section.header.tokens;
  if (begins_rules(section) || begins_words(section)) {
    if (tokens.size() > 2 || (begins_rules(section) && tokens.size() > 1))
      fail(section.header, fmt::format("{} follows the nonterminal", in_quotes(tokens[1])), valid_headers);
    return;
  }
  if (tokens.size() == 2 && tokens[0] == "shape") return;
  if (tokens.size() != 1) fail(section.header, "this is no section", valid_headers);
  for (const auto& line : section.lines) {
    if (tokens[0] == "features")
      read_feature(line);
    else if (tokens[0] == "groups")
      read_group(line);
    else if (tokens[0] == "variables")
      read_variables(line);
    else if (tokens[0] == "vowels")
      read_vowels(line);
    else if (tokens[0] == "contractions")
      read_contraction(line);
    else
      fail(section.header, fmt::format("{} is no section", in_quotes(tokens[0])), valid_headers);
  }
}

std::pair<Texts, Texts> GrammarParser::sides(const Line& line, std::string_view valid) const {
  const auto equals = std::find(line.tokens.begin(), line.tokens.end(), "=");
  if (equals == line.tokens.end() || std::count(line.tokens.begin(), line.tokens.end(), "=") != 1)
    fail(line, "the line has not one = between its two sides", valid);
  std::pair<Texts, Texts> result{{line.tokens.begin(), equals}, {equals + 1, line.tokens.end()}};
  if (result.first.empty() || result.second.empty()) fail(line, "nothing stands on one side of =", valid);
  return result;
}

void GrammarParser::read_feature(const Line& line) {
  constexpr std::string_view valid = "FEATURE = VALUE VALUE …, all of other names";
  const auto [left, right] = sides(line, valid);
  if (left.size() != 1) fail(line, "a feature has one name", valid);
  if (right.size() > most_combinations)
    fail(line, fmt::format("{} has {} values", left[0], right.size()),
         fmt::format("at most {}", most_combinations));
  for (std::size_t value = 0; value < right.size(); ++value)
    add_condition(line, right[value], grammar_.features.size(), std::uint64_t{1} << value);
  grammar_.features.push_back({left[0], right});
}

void GrammarParser::read_group(const Line& line) {
  constexpr std::string_view valid = "GROUP = VALUE VALUE …, values of one feature";
  const auto [left, right] = sides(line, valid);
  if (left.size() != 1) fail(line, "a group has one name", valid);
  const auto feature = named_condition(line, right[0]).first;
  std::uint64_t values = 0;
  for (const auto& name : right) {
    const auto condition = named_condition(line, name);
    if (condition.first != feature)
      fail(line, fmt::format("{} is of another feature", in_quotes(name)), valid);
    values |= condition.second;
  }
  add_condition(line, left[0], feature, values);
}

void GrammarParser::add_condition(const Line& line, const std::string& name, std::size_t feature,
                                  std::uint64_t values) {
  if (!named_conditions_.emplace(name, std::pair(feature, values)).second)
    fail(line, fmt::format("{} is there already", in_quotes(name)), "a name for one value or group only");
}

std::pair<std::size_t, std::uint64_t> GrammarParser::named_condition(const Line& line,
                                                                     const std::string& name) const {
  const auto found = named_conditions_.find(name);
  if (found != named_conditions_.end()) return found->second;
  Texts names;
  for (const auto& condition : named_conditions_) names.push_back(condition.first);
  fail(line, fmt::format("{} is no value of a feature", in_quotes(name)),
       names.empty() ? "those of a section features" : list(names));
}

void GrammarParser::read_variables(const Line& line) {
  constexpr std::string_view valid = "VARIABLE … = FEATURE …, variables of capital letters";
  const auto [left, right] = sides(line, valid);
  Sort sort;
  for (const auto& name : right) {
    const auto feature = std::find_if(grammar_.features.begin(), grammar_.features.end(),
                                      [&](const Feature& candidate) { return candidate.name == name; });
    if (feature == grammar_.features.end()) {
      Texts names;
      for (const auto& candidate : grammar_.features) names.push_back(candidate.name);
      fail(line, fmt::format("{} is no feature", in_quotes(name)),
           names.empty() ? "those of a section features" : list(names));
    }
    sort.features.push_back(static_cast<std::size_t>(feature - grammar_.features.begin()));
    sort.combinations *= feature->values.size();
    if (sort.combinations > most_combinations)
      fail(line, "the features have too many combinations", fmt::format("at most {}", most_combinations));
  }
  for (const auto& name : left) {
    if (!is_variable(name)) fail(line, fmt::format("{} is no variable", in_quotes(name)), valid);
    if (!variables_.emplace(name, grammar_.sorts.size()).second)
      fail(line, fmt::format("{} is there already", in_quotes(name)), "another letter");
  }
  grammar_.sorts.push_back(std::move(sort));
}

bool GrammarParser::is_variable(const std::string& name) {
  return std::all_of(name.begin(), name.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
}

void GrammarParser::read_vowels(const Line& line) {
  constexpr std::string_view valid = "source = a e …, or target = a e …";
  const auto [left, right] = sides(line, valid);
  if (left.size() != 1 || (left[0] != "source" && left[0] != "target"))
    fail(line, fmt::format("{} has no vowels", in_quotes(left[0])), valid);
  auto& vowels = left[0] == "source" ? source_vowels_ : target_vowels_;
  for (const auto& letter : right) {
    const auto code_points = attn::code_points(letter);
    if (code_points.size() != 1) fail(line, fmt::format("{} is not one letter", in_quotes(letter)), valid);
    vowels += code_points;
  }
}

void GrammarParser::read_contraction(const Line& line) {
  constexpr std::string_view valid = "WORD WORD = WORD";
  const auto [left, right] = sides(line, valid);
  if (left.size() != 2 || right.size() != 1) fail(line, "two words become one", valid);
  grammar_.contractions[{left[0], left[1]}] = right[0];
}

Condition GrammarParser::no_condition() const {
  Condition condition;
  for (const auto& feature : grammar_.features)
    condition.push_back(feature.values.size() == 64 ? ~std::uint64_t{0}
                                                    : (std::uint64_t{1} << feature.values.size()) - 1);
  return condition;
}

Condition GrammarParser::parse_condition(const Line& line, const std::string& text) const {
  auto condition = no_condition();
  if (text == "any") return condition;
  for (const auto& name : cut(text, ':')) {
    const auto [feature, values] = named_condition(line, name);
    condition[feature] &= values;
  }
  return condition;
}

std::vector<Condition> GrammarParser::parse_conditions(const Line& line, const Texts& texts) const {
  std::vector<Condition> conditions;
  for (const auto& text : texts) conditions.push_back(parse_condition(line, text));
  return conditions;
}

void GrammarParser::find_start() {
  const auto start = symbols_.find("sentence");
  if (start == symbols_.end() || !has_rules_[start->second])
    throw attn::Error(
        fmt::format("{} has no section <sentence>; valid: rules that begin there", grammar_.file_name));
  grammar_.start = start->second;
  const auto& symbol = grammar_.symbols[grammar_.start];
  if (!symbol.sorts.empty()) grammar_.fail(symbol.line, "<sentence> has variables", "<sentence>");
}

}  // namespace corpora
