#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "attn/random/random.hpp"

namespace corpora {

/// A sentence with its label. Positions count words.
struct LabelledSentence {
  std::vector<std::string> words;
  bool is_positive = false;
  std::size_t sentiment_word = 0;       ///< the adjective or verb that decides
  std::optional<std::size_t> negator;   ///< the one that turns it over
  std::optional<std::size_t> contrast;  ///< "but": the clause before it does not count
};

/// The words of the task sentiment, as `data/corpora/sentiment.txt` lists and explains them, and its
/// sentences.
///
/// Training sentences are positive and negative equally often, with and without a negator equally often; one
/// in four has two clauses. Each adjective and verb is kept from one negator, so that a test with that unseen
/// pair shows whether negation was learned or only pairs of words.
class SentimentCorpus {
 public:
  /// Reads lines "positive verbs: enjoy, praise"; a list may go on in another line of its name, blank lines
  /// and lines that begin with # do not count. Throws attn::Error, with the line's number, for a file that
  /// cannot be read, a line of another form, words not of the letters a to z, and a word with two roles;
  /// without it for an empty list, and for less than two negators, one of which is kept for testing.
  static SentimentCorpus load(const std::string& path);

  /// A training sentence, without any unseen pair.
  LabelledSentence draw(attn::Random& random) const;

  /// A sentence whose label is decided by an unseen pair; otherwise like a training sentence.
  LabelledSentence draw_unseen_pair(attn::Random& random) const;

  /// All words of all sentences, sorted.
  std::vector<std::string> vocabulary() const;

 private:
  struct SentimentWord {
    std::string text;
    bool is_positive, is_verb;
    std::size_t unseen_negator;  ///< index of a negator
  };

  LabelledSentence draw_clause(attn::Random& random, bool is_positive) const;
  /// A clause with that adjective or verb; the negator and the intensifier may be empty.
  LabelledSentence draw_around(attn::Random& random, const SentimentWord& word, const std::string& negator,
                               const std::string& intensifier) const;

  LabelledSentence with_or_without_contrast(attn::Random& random, LabelledSentence last) const;

  std::map<std::string, std::vector<std::string>> lists_;  ///< by name; asides are of one word or several
  std::array<std::vector<SentimentWord>, 2> words_;        ///< the negative ones, the positive ones
};

}  // namespace corpora
