#include "fast/train/teacher_forcing.hpp"

#include <algorithm>
#include <utility>

namespace attn::train {

std::vector<std::vector<int>> words_read(const std::vector<std::vector<int>>& targets, int mark) {
  std::vector<std::vector<int>> read;
  for (const auto& target : targets) {
    std::vector<int> words = {mark};
    words.insert(words.end(), target.begin(), target.end());
    read.push_back(std::move(words));
  }
  return read;
}

std::vector<std::vector<int>> words_to_write(std::vector<std::vector<int>> targets, int mark) {
  for (auto& target : targets) target.push_back(mark);
  return targets;
}

int likeliest(const float* logits, std::size_t words) {
  return static_cast<int>(std::max_element(logits, logits + words) - logits);
}

}  // namespace attn::train
