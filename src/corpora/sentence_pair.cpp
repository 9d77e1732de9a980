#include "corpora/sentence_pair.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "corpora/surface.hpp"

namespace corpora {

bool is_stand_in(const std::string& word) {
  return word.size() > 2 && word.front() == '[' && word.back() == ']';
}

std::string source_text(const SentencePair& pair) {
  std::string text;
  for (const auto& word : pair.source) {
    if (!text.empty()) text += ' ';
    text += word.text;
  }
  return text;
}

std::string target_text(const SentencePair& pair) {
  return in_writing(pair.target);
}

std::string in_writing(const std::vector<std::string>& words) {
  std::string text;
  for (const auto& word : words) {
    const bool stands_alone = !text.empty() && !is_joined(text) && word != "." && word != ",";
    text += (stands_alone ? " " : "") + word;
  }
  return text;
}

}  // namespace corpora
