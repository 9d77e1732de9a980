#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "attn/random/random.hpp"
#include "english/lexicon.hpp"

namespace english {

/// A sentence, and for each word the place of the one that it is about: of an article or an adjective its
/// noun, of a verb its subject, of a preposition its object, of a pronoun what it stands for. A word that is
/// about no other, as a noun, has its own place.
struct AboutSentence {
  std::vector<std::string> words;
  std::vector<std::size_t> about;
};

/// English sentences whose nouns, verbs and adjectives come from the lexicon.
class AboutGrammar {
 public:
  /// Of the lexicon's nouns, verbs and adjectives only those that `is_used` holds for.
  AboutGrammar(const Lexicon& lexicon, const std::function<bool(const std::string&)>& is_used);

  /// Where a pronoun could stand for two nouns, number, person or what is said of it decides.
  AboutSentence draw(attn::Random& random) const;

  /// Nouns and adjectives by the letters of their kind.
  struct Words {
    std::map<std::string, std::vector<std::string>> nouns, adjectives;
    std::vector<std::string> acts_alone, acts_on_things, acts_on_beings, happens, adverbs, men, women;
    std::map<std::string, std::vector<std::string>> irregular;  ///< "run" {"ran"}
    std::map<std::string, std::string> irregular_plurals;       ///< "mouse" "mice"
  };
  const Words& words() const { return words_; }

 private:
  Words words_;
};

}  // namespace english
