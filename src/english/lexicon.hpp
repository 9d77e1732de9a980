#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

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
  std::string_view line_of(std::string_view word) const;
  void add_listed(std::vector<Reading>& found, std::string_view word) const;
  void add_regular(std::vector<Reading>& found, const std::string& word) const;
  void add_form(std::vector<Reading>& found, const std::string& lemma, char part, Form form) const;

  std::string text_;
};

/// "dogs", "boxes", "cities": by rule.
std::string plural_of(const std::string& noun);

/// A regular form of a verb: "carries", "carried", "carrying".
std::string form_of(const std::string& verb, Form form);

}  // namespace english
