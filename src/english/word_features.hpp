#pragma once

#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "english/lexicon.hpp"

namespace english {

/// What a model that reads any English word is told of it.
struct WordFeatures {
  std::vector<std::pair<std::string, double>>
      named;                    ///< "noun" 0.8, "verb" 0.2, "noun a" 0.8: shares of uses
  std::array<double, 16> code;  ///< the word's own: of length 1, drawn from the name of its likeliest lemma
  std::string taken_for;        ///< of a word that the lexicon lacks: "a noun"; else empty
};

/// Of each word of a sentence. A capital letter tells nothing of the first.
std::vector<WordFeatures> features_of(const Lexicon& lexicon, const std::vector<std::string>& words);

/// All names that features can have, in alphabetical order.
std::vector<std::string> names_of_features(const Lexicon& lexicon);

/// What a model reads in the place of a word that its vocabulary lacks: the word itself in lower case; else
/// the word that is most alike by what the lexicon knows of both, and praises, condemns or contrasts as it
/// does. Nothing where no word of the vocabulary is alike in anything.
std::optional<std::string> read_as(const Lexicon& lexicon, const std::string& word,
                                   const std::vector<std::string>& vocabulary);

/// The tokens with contractions cut as treebanks cut them: "didn't" is "did" and "n't", "it's" is "it" and
/// "'s" (Marcus et al. 1993).
std::vector<std::string> with_contractions_cut(const std::vector<std::string>& tokens);

/// "didn't" for "didn’t".
std::string with_plain_apostrophes(std::string word);

}  // namespace english
