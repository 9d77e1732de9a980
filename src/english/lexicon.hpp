#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attn/random/random.hpp"

namespace english {

/// The forms in which English words come.
enum class Form { base, plural, third_person, past, gerund };

/// One of the things that a word can be.
struct Reading {
  std::string part;   ///< "noun", "verb", "adjective", "adverb", or a class of function words: "pronoun"
  std::string lemma;  ///< "mouse" of "mice"
  std::string kind;   ///< the letters behind the part, as data/lexicon/README.md lists them: "a" of an animal
  Form form = Form::base;
  double share = 1;  ///< of the uses of the word, by the counts of the lexicon; all shares sum to 1
  int polarity = 0;  ///< of an adjective or a verb: 1 where it praises, −1 where it condemns

  /// Whether it is a word of a closed class: a pronoun, a preposition, …
  bool is_function() const {
    return part != "noun" && part != "verb" && part != "adjective" && part != "adverb";
  }
};

/// What is known of English words: `data/lexicon/english.txt`, in which lines are found by bisection.
class Lexicon {
 public:
  /// Throws attn::Error where the file cannot be read.
  explicit Lexicon(const std::string& path);

  Lexicon(const Lexicon&) = delete;

  /// All that the word can be, the likeliest first: itself, and what it is a regular form of. Upper and lower
  /// case are the same. Empty for a word that is neither listed nor a regular form of one that is.
  std::vector<Reading> readings(std::string_view word) const;

  /// The same, and for a word that is not known what its ending or its capital letter tells. Never empty.
  std::vector<Reading> guessed_readings(std::string_view word) const;

  /// A line of the file.
  struct Entry {
    std::string word;
    std::vector<std::string> readings;  ///< "nt91"
  };

  /// All lines, in the order of the file.
  std::vector<Entry> entries() const;

 private:
  /// The readings of the word's line.
  std::vector<std::string_view> listed(std::string_view word) const;

  void add_listed(std::vector<Reading>& found, const std::string& word) const;
  void add_regular(std::vector<Reading>& found, const std::string& word) const;
  void add_form(std::vector<Reading>& found, const std::string& lemma, char part, Form form) const;

  std::string text_;
  std::vector<std::string_view> lines_;  ///< of the text
};

/// "dogs", "boxes", "cities": by rule.
std::string plural_of(const std::string& noun);

/// A regular form of a verb: "carries", "carried", "carrying".
std::string form_of(const std::string& verb, Form form);

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
