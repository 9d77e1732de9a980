#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "corpora/grammar_text.hpp"

/// The lines of a grammar's file, before anybody knows what they mean.
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

}  // namespace corpora
