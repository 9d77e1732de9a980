#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "attn/text/utf8.hpp"
#include "corpora/grammar_parser.hpp"

namespace corpora {

void GrammarParser::read_shape(const Section& section) {
  if (begins_rules(section) || begins_words(section) || section.header.tokens.size() != 2) return;
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
      fail(line, fmt::format("{} tells nothing about a shape", in_quotes(line.text)), valid);
  }
  if (shape.categories.empty())
    fail(section.header, fmt::format("the shape {} has no category", shape.name), valid);
  grammar_.shapes.push_back(std::move(shape));
}

std::vector<std::pair<Condition, std::string>> GrammarParser::parse_categories(const Line& line,
                                                                               const Texts& texts) const {
  if (texts.size() == 1) return {{no_condition(), texts[0]}};
  const auto equals = std::find(texts.begin(), texts.end(), "=");
  const auto conditions = parse_conditions(line, {texts.begin(), equals});
  if (texts.size() != 2 * conditions.size() + 1)
    fail(line, "there is not one name for each condition", "category CONDITION … = NAME …, as many of each");
  std::vector<std::pair<Condition, std::string>> categories;
  for (std::size_t i = 0; i < conditions.size(); ++i)
    categories.emplace_back(conditions[i], texts[conditions.size() + 1 + i]);
  return categories;
}

void GrammarParser::read_words(const Section& section) {
  if (!begins_words(section)) return;
  const auto& header = section.header;
  const auto bracket = parse_bracket(header, header.tokens[1]);
  const auto shape = std::find_if(grammar_.shapes.begin(), grammar_.shapes.end(),
                                  [&](const Shape& candidate) { return candidate.name == header.tokens[0]; });
  if (shape == grammar_.shapes.end()) {
    Texts names;
    for (const auto& candidate : grammar_.shapes) names.push_back(candidate.name);
    fail(header, fmt::format("{} is no shape", in_quotes(header.tokens[0])),
         names.empty() ? "those of sections shape NAME" : list(names));
  }
  Table table{header.number,
              symbols_.at(bracket.name),
              static_cast<std::size_t>(shape - grammar_.shapes.begin()),
              {},
              {}};
  for (const auto& argument : bracket.arguments)
    table.allowed.push_back(parse_variable(header, argument).allowed);
  if (shape->decides) {
    const auto& sorts = grammar_.symbols[table.symbol].sorts;
    if (sorts.size() != 1)
      fail(header, fmt::format("the words of <{}> decide {} variables", bracket.name, sorts.size()),
           "one variable");
    grammar_.sorts[sorts[0]].is_decided = true;
  }
  for (const auto& line : section.lines) table.rows.push_back(parse_row(line, *shape));
  grammar_.tables.push_back(std::move(table));
}

Row GrammarParser::parse_row(const Line& line, const Shape& shape) const {
  constexpr std::string_view valid = "SOURCE FORM … = TARGET FORM …, then : VALUE … where the word has some";
  auto [source, target] = sides(line, valid);
  Row row{line.number, {}, {}, no_condition()};
  const auto colon = std::find(target.begin(), target.end(), ":");
  for (auto name = colon; name != target.end(); ++name) {
    if (name == colon) continue;
    const auto condition = parse_condition(line, *name);
    for (std::size_t i = 0; i < condition.size(); ++i) row.condition[i] &= condition[i];
  }
  target.erase(colon, target.end());
  for (const auto& text : source) row.source.push_back(parse_form(line, text, source_vowels_));
  for (const auto& text : target) row.target.push_back(parse_form(line, text, target_vowels_));
  require_number_of_forms(line, "source", source.size(), shape.source);
  require_number_of_forms(line, "target", target.size(), shape.target);
  for (const auto& form : row.source)
    if (form && (form->size() != 1 || is_joined((*form)[0].text)))
      fail(line, "a source form is not one word", "one word, as a sentence has it between spaces");
  return row;
}

void GrammarParser::require_number_of_forms(const Line& line, std::string_view side, std::size_t count,
                                            const std::vector<std::vector<Condition>>& possible) const {
  Texts counts{"1"};
  for (const auto& conditions : possible) counts.push_back(std::to_string(conditions.size()));
  const auto written = std::to_string(count);
  if (std::find(counts.begin(), counts.end(), written) == counts.end())
    fail(line, fmt::format("the {} side has {} forms", side, count),
         fmt::format("{} by its shape", fmt::join(counts, " or ")));
}

Form GrammarParser::parse_form(const Line& line, const std::string& text,
                               const std::u32string& vowels) const {
  if (text == "-") return std::nullopt;
  if (text == "()") return std::vector<Word>{};
  return parse_target_words(line, text, vowels);
}

std::vector<Word> GrammarParser::parse_target_words(const Line& line, const std::string& text,
                                                    const std::u32string& vowels) const {
  std::vector<Word> words;
  for (auto part : cut(text, '_')) {
    const bool is_barred = part.starts_with('*');
    if (is_barred) part.erase(0, 1);
    const auto forms = cut(part, '/');
    if (forms.size() > 2 || std::find(forms.begin(), forms.end(), "") != forms.end() ||
        part.find_first_of("<>()*:=") != part.npos)
      fail(line, fmt::format("{} is no word", in_quotes(text)),
           "word, two_words, before/before' a vowel, or *word where it begins with none by its sound");
    const auto first = attn::code_points(forms[0]).front();
    words.push_back(
        {forms[0], forms.size() == 2 ? forms[1] : "", !is_barred && vowels.find(first) != vowels.npos});
  }
  return words;
}

}  // namespace corpora
