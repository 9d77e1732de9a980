#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace corpora {

/// A link of a gold alignment between a source and a target word: sure, or only possible (Och & Ney 2003, "A
/// Systematic Comparison of Various Statistical Alignment Models").
struct Link {
  std::size_t source;
  std::size_t target;
  bool is_sure;

  bool operator==(const Link&) const = default;
};

/// What a word has for a gloss that has no word of its own in the other language, as "did" in French.
inline constexpr const char* no_gloss = "–";

struct SourceWord {
  std::string text;
  std::string category;  ///< as the grammar names it: "noun", "article", "past"…

  /// The word's own form in the target language, as it is before elision and contraction: "la", "dormait",
  /// "parce que".
  std::string gloss;

  /// The source word with which this one agrees, in either language: its noun for an article or adjective,
  /// the noun of the subject for a verb, the noun that it stands for for a pronoun.
  std::optional<std::size_t> controller;

  /// How many nouns (words with which others can agree) stand between this word and its controller.
  std::size_t nouns_between = 0;
};

struct SentencePair {
  std::vector<SourceWord> source;
  std::vector<std::string> target;
  std::vector<Link> links;  ///< by source, then by target; none twice
};

/// Whether a word stands in for those of its kind that a grammar lacks: "[animal]", "[noun]".
bool is_stand_in(const std::string& word);

/// The source words with a space between each two.
std::string source_text(const SentencePair& pair);

/// The target words as they are written.
std::string target_text(const SentencePair& pair);

/// Words with a space between each two, but for "l'" before a word, and for "." and "," behind one.
std::string in_writing(const std::vector<std::string>& words);

}  // namespace corpora
