#pragma once

#include <array>
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

/// The tokens with contractions cut as treebanks cut them: "didn't" is "did" and "n't", "it's" is "it" and
/// "'s" (Marcus et al. 1993).
std::vector<std::string> with_contractions_cut(const std::vector<std::string>& tokens);

}  // namespace english
