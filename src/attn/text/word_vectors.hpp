#pragma once

#include <string>
#include <unordered_map>
#include <vector>

namespace attn {

/// Word vectors in the text format that word2vec, GloVe and fastText share: a line for each word, the word
/// and then its numbers, separated by spaces; an optional first line "COUNT DIMENSION". A word may have
/// spaces in it, as some of GloVe's do, except on a first line without a header. Words are compared in NFC;
/// of two lines for one word the first counts.
class WordVectors {
 public:
  /// Throws Error, with the line's number, for a file that cannot be read or does not have that form, for a
  /// vector of another length than the first, for numbers that are not finite, and for more or fewer lines
  /// than the header counts.
  static WordVectors load(const std::string& path);

  std::size_t dimension() const { return dimension_; }

  /// Whether there is a vector for a token as written, or else in lower case.
  bool has(const std::string& token) const { return find(token) != nullptr; }

  /// The vector of a token as written, or else in lower case. Throws Error that names a token not there and
  /// the words that it may have been meant for.
  const std::vector<double>& at(const std::string& token) const;

 private:
  const std::vector<double>* find(const std::string& token) const;

  std::string path_;
  std::size_t dimension_ = 0;
  std::unordered_map<std::string, std::vector<double>> vectors_;
};

}  // namespace attn
