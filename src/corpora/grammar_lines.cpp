#include "corpora/grammar_lines.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "attn/error.hpp"
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

}  // namespace corpora
