#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace corpora {

/// A link of a gold alignment between a source and a target word: sure, or only possible (Och & Ney 2003, "A
/// Systematic Comparison of Various Statistical Alignment Models").
struct Link {
  std::size_t source, target;
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

/// The source words, and the same with a space between each two.
std::vector<std::string> texts(const std::vector<SourceWord>& words);
std::string source_text(const SentencePair& pair);

/// The target words as they are written.
std::string target_text(const SentencePair& pair);

/// Words with a space between each two, but for "l'" before a word, and for "." and "," behind one.
std::string in_writing(const std::vector<std::string>& words);

/// A word as it is written in a grammar, before its neighbours change it: "le/l'" is "le", and "l'" before a
/// vowel.
struct Word {
  std::string text;
  std::string before_vowel;  ///< empty where the word is the same before a vowel
  bool begins_with_vowel;    ///< by its sound: true for "homme", false for "*hibou"
};

/// The words of a target sentence before they are put together, and where they come from.
struct TargetWords {
  std::vector<const Word*> words;
  std::vector<Link> links;
};

/// "de le" is "du".
using Contractions = std::map<std::pair<std::string, std::string>, std::string>;

/// The form of `word` that stands before `next`, which may be null at the end of a sentence.
const std::string& form_before(const Word& word, const Word* next);

/// Whether a word is written without a blank before the next one, as "l'" in "l'homme".
bool is_joined(const std::string& form);

/// Puts the words of a target sentence next to each other: elision and contraction. Fills in
/// `pair.target` and `pair.links`; a word made of several has the links of them all.
void put_together(const TargetWords& target, const Contractions& contractions, SentencePair& pair);

/// For each target word the source word that it looks at most.
using Alignment = std::vector<std::size_t>;

/// Alignment error rate: 1 − (|A ∩ S| + |A ∩ P|) / (|A| + |S|) for the links A of the model, the sure ones S
/// and the possible ones P, which hold the sure ones (Och & Ney 2003, section 6). A word that is joined of
/// two (l'homme) has two sure links and can look most at one word only, so that 0 is out of reach.
class AlignmentErrors {
 public:
  /// The alignment has a source word for each target word of the pair.
  void add(const SentencePair& pair, const Alignment& alignment);

  /// Of all pairs that were added.
  double rate() const;

 private:
  std::size_t made_ = 0, sure_ = 0, in_sure_ = 0, in_possible_ = 0;
};

/// A row for each word of the target, a column for each of the source: ( ) around a sure link, ? ? around a
/// possible one, * where the model looks most. A row of the source words stands above where it fits in 66
/// columns. `looks` may have more rows than the target has words, as that of </s>.
std::vector<std::string> drawn_links(const SentencePair& pair, const Alignment& looks);

}  // namespace corpora
