#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "corpora/sentence_pair.hpp"

namespace corpora {

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

}  // namespace corpora
