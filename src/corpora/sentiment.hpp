#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attn/random/random.hpp"

namespace corpora {

/// The words that the sentences of the task sentiment are made of, as `data/corpora/sentiment.txt` lists and
/// explains them.
struct SentimentLexicon {
  std::vector<std::string> nouns;
  std::vector<std::string> viewers;
  std::vector<std::string> positive_adjectives;
  std::vector<std::string> negative_adjectives;
  std::vector<std::string> positive_verbs;
  std::vector<std::string> negative_verbs;
  std::vector<std::string> intensifiers;
  std::vector<std::string> negators;
  std::vector<std::string> asides;  ///< of one word or several, with a space between them

  /// Reads lines "positive verbs: enjoy, praise"; a list may go on in another line of its name, blank lines
  /// and lines that begin with # do not count. Throws attn::Error, with the line's number, for a file that
  /// cannot be read, a line of another form, words not of the letters a to z, and a word with two roles;
  /// without it for an empty list, and for less than two negators, one of which is kept for testing.
  static SentimentLexicon load(const std::string& path);
};

/// A sentence with its label. Positions count words.
struct LabelledSentence {
  std::vector<std::string> words;
  bool is_positive = false;
  std::size_t sentiment_word = 0;       ///< the adjective or verb that decides
  std::optional<std::size_t> negator;   ///< the one that turns it over
  std::optional<std::size_t> contrast;  ///< "but": the clause before it does not count
};

/// Sentences of the task sentiment, of a lexicon like `data/corpora/sentiment.txt`, which describes them.
///
/// Training sentences are positive and negative equally often, with and without a negator equally often; one
/// in four has two clauses. Each adjective and verb is kept from one negator, so that a test with that unseen
/// pair shows whether negation was learned or only pairs of words.
class SentimentCorpus {
 public:
  /// Throws attn::Error as SentimentLexicon::load does.
  static SentimentCorpus load(const std::string& path);

  /// A training sentence, without any unseen pair.
  LabelledSentence draw(attn::Random& random) const;

  /// A sentence whose label is decided by an unseen pair; otherwise like a training sentence.
  LabelledSentence draw_unseen_pair(attn::Random& random) const;

  /// All sentences of one clause without an aside whose label is decided by an unseen pair.
  std::vector<LabelledSentence> unseen_pair_sentences() const;

  /// The negator that an adjective or verb is not seen with in training. Throws attn::Error for other words.
  const std::string& unseen_negator(const std::string& word) const;

  /// All words of all sentences, sorted.
  std::vector<std::string> vocabulary() const;

  /// The number of words of the longest sentence that is drawn.
  std::size_t longest_sentence() const;

 private:
  explicit SentimentCorpus(SentimentLexicon lexicon);

  struct SentimentWord {
    std::string text;
    bool is_positive;
    bool is_verb;
    std::size_t unseen_negator;  ///< index of a negator
  };

  /// What a clause is made of. Empty texts are left out.
  struct ClauseParts {
    const SentimentWord* word = nullptr;
    std::string negator, aside, intensifier, noun, viewer;
    bool has_word_before_noun = false;  ///< "it was a good film", not "the film was good"
  };

  void add_words(const std::vector<std::string>& texts, bool is_positive, bool is_verb);

  static std::vector<std::string> clause_until_negator(const ClauseParts& parts);
  static LabelledSentence clause(const ClauseParts& parts);
  static LabelledSentence contrasted(const LabelledSentence& first, LabelledSentence second);

  LabelledSentence draw_clause(attn::Random& random, bool is_positive) const;
  LabelledSentence draw_unseen_clause(attn::Random& random, bool is_positive) const;
  LabelledSentence draw_parts_around(attn::Random& random, ClauseParts parts) const;
  LabelledSentence with_or_without_contrast(attn::Random& random, LabelledSentence last) const;
  const std::string& draw_seen_negator(attn::Random& random, const SentimentWord& word) const;

  void append_unseen_clauses(std::vector<LabelledSentence>& sentences, const SentimentWord& word,
                             const std::string& noun) const;

  SentimentLexicon lexicon_;
  std::array<std::vector<SentimentWord>, 2> words_;  ///< the negative ones, the positive ones
};

}  // namespace corpora
