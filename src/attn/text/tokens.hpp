#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace attn {

/// The names of the entries along one axis: none, one list, or one list for each sample of a batch.
struct AxisLabels {
  std::vector<std::vector<std::string>> lists;

  bool empty() const { return lists.empty(); }
  bool per_sample() const { return lists.size() > 1; }

  /// The labels as sample `sample` of the batch sees them. Not to be called when empty.
  const std::vector<std::string>& of(std::size_t sample) const {
    return per_sample() ? lists[sample] : lists[0];
  }
};

/// The label of the positions that fill up a shorter sentence of a batch.
inline constexpr std::string_view padding_token = "<pad>";

/// What a decoder reads before the first word that it writes, and what it writes after the last. No sentence
/// has them among its tokens: its angle brackets are tokens of their own.
inline constexpr std::string_view start_token = "<s>";
inline constexpr std::string_view end_token = "</s>";

/// Stands between the tokens of a sentence that somebody else has cut, "play│##ing": nothing else cuts it
/// then.
inline constexpr std::string_view token_mark = "│";

/// The words, numbers, punctuation marks and symbols of a sentence in NFC, by the word boundaries of Unicode
/// (UAX #29) and ICU's dictionaries for Chinese, Japanese, Thai…. White space separates and is dropped, and
/// so is whatever would print nothing between two boundaries: control characters, zero-width spaces, a
/// combining mark with nothing to combine with. Throws Error for invalid UTF-8 (with the byte offset) and for
/// a sentence without a token.
std::vector<std::string> tokenize(std::string_view sentence);

/// The sentences of a batch as tokens; every sentence is padded to the longest one with `padding_token`.
struct TokenBatch {
  std::vector<std::vector<std::string>> tokens;  ///< [batch][token], without padding

  std::size_t size() const { return tokens.size(); }
  std::size_t length() const;  ///< of the longest sentence
  bool is_padded() const;      ///< whether some sentence is shorter than another
  std::vector<std::size_t> lengths() const;
  AxisLabels labels() const;                  ///< with padding; one list where all sentences are the same
  std::vector<std::string> distinct() const;  ///< each token once, where it first stands
};

TokenBatch tokenize(const std::vector<std::string>& sentences);

/// The place of the first such word; how many words there are where none is.
std::size_t place_of(std::string_view word, const std::vector<std::string>& words);

}  // namespace attn
