#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstddef>

#include "corpora/sentence_pair.hpp"
#include "lessons/seq2seq.hpp"
#include "lessons/workbench/notice.hpp"
#include "trace/entry.hpp"

namespace lessons {

std::string about_learned_alignment(const attn::Event& weights) {
  const auto& shape = weights.tensor->shape;
  const std::size_t rows = shape[shape.size() - 2];
  std::size_t words = 0;
  while (words < rows && name_along(weights, shape.size() - 2, words) != attn::end_token) ++words;
  const auto crossing = words_that_cross(weights, words);
  return "A row shows where the decoder looks before it writes its word. " +
         (crossing.empty() ? "Here the words have one order in both languages." : crossing) +
         (words < rows ? " </s> has no source word; softmax still makes its row sum to 1." : "");
}

/// "the the cat …" for each sentence, with a capital where its source has one.
std::string quoted(const attn::TokenBatch& batch, const attn::TokenBatch& sources) {
  constexpr std::size_t most_words = 16;
  std::vector<std::string> sentences;
  for (std::size_t b = 0; b < batch.size(); ++b) {
    auto words = batch.tokens[b];
    const bool is_long = words.size() > most_words;
    if (is_long) words.resize(most_words);
    auto text = corpora::in_writing(words);
    const char first = sources.tokens[b].front().front();
    if (first >= 'A' && first <= 'Z' && text.front() >= 'a' && text.front() <= 'z')
      text.front() = static_cast<char>(text.front() - 'a' + 'A');
    sentences.push_back(fmt::format("\"{}{}\"", text, is_long ? " …" : ""));
  }
  return fmt::format("{}", fmt::join(sentences, " and "));
}

}  // namespace lessons
