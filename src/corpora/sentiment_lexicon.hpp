#pragma once

#include <string>
#include <string_view>
#include <vector>

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

/// The words that every sentence is built with: "the", "was", ….
const std::vector<std::string>& sentiment_frame_words();

/// The parts of a text between single separators, without spaces around them.
std::vector<std::string> split_at(std::string_view text, char separator);

}  // namespace corpora
