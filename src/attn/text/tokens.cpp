#include "attn/text/tokens.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "attn/error.hpp"
#include "attn/lists.hpp"
#include "attn/text/trim.hpp"
#include "attn/text/utf8.hpp"
#include "attn/text/width.hpp"

namespace attn {

namespace {

bool is_visible(std::string_view cluster) {
  const auto first = code_points(cluster).front();
  return !is_white_space(first) && !is_default_ignorable(first) && display_width(cluster) > 0;
}

bool is_token(std::string_view segment) {
  return any_of(grapheme_clusters(segment), is_visible);
}

std::vector<std::string> tokenize(std::string_view sentence, const std::string& what) {
  require_valid_utf8(sentence, what);
  const auto normalized = nfc(sentence);
  const bool is_cut = normalized.find(token_mark) != normalized.npos;
  std::vector<std::string> tokens;
  for (const auto segment : is_cut ? pieces_of(normalized, token_mark) : word_segments(normalized))
    if (is_token(segment)) tokens.emplace_back(segment);
  if (tokens.empty())
    throw Error(
        fmt::format("{} is empty: it has no visible character; valid: at least one word or symbol", what));
  return tokens;
}

}  // namespace

std::vector<std::string> tokenize(std::string_view sentence) {
  return tokenize(sentence, "the sentence");
}

TokenBatch tokenize(const std::vector<std::string>& sentences) {
  TokenBatch batch;
  for (std::size_t i = 0; i < sentences.size(); ++i) {
    const auto what = sentences.size() == 1 ? "the sentence" : fmt::format("sentence {}", i + 1);
    batch.tokens.push_back(tokenize(sentences[i], what));
  }
  return batch;
}

std::size_t TokenBatch::length() const {
  std::size_t longest = 0;
  for (const auto& sentence : tokens) longest = std::max(longest, sentence.size());
  return longest;
}

bool TokenBatch::is_padded() const {
  return any_of(tokens, [longest = length()](const auto& sentence) { return sentence.size() < longest; });
}

std::vector<std::size_t> TokenBatch::lengths() const {
  return each_of(tokens, [](const auto& sentence) { return sentence.size(); });
}

AxisLabels TokenBatch::labels() const {
  if (std::set(tokens.begin(), tokens.end()).size() == 1) return {{tokens[0]}};
  AxisLabels labels{tokens};
  for (auto& list : labels.lists) list.resize(length(), std::string(padding_token));
  return labels;
}

std::vector<std::string> TokenBatch::distinct() const {
  std::vector<std::string> words;
  for (const auto& sentence : tokens)
    for (const auto& token : sentence)
      if (!contains(words, token)) words.push_back(token);
  return words;
}

std::size_t place_of(std::string_view word, const std::vector<std::string>& words) {
  return static_cast<std::size_t>(std::find(words.begin(), words.end(), word) - words.begin());
}

}  // namespace attn
