#include "corpora/sentence_pair.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace corpora {

std::string source_text(const SentencePair& pair) {
  std::string text;
  for (const auto& word : pair.source) {
    if (!text.empty()) text += ' ';
    text += word.text;
  }
  return text;
}

std::string target_text(const SentencePair& pair) {
  return fmt::format("{}", fmt::join(pair.target, " "));
}

}  // namespace corpora
