#include "fast/train/teacher_forcing.hpp"

#include <algorithm>

namespace attn::train {

std::vector<std::vector<int>> words_read(const std::vector<std::vector<int>>& targets, int mark) {
  std::vector<std::vector<int>> read;
  for (const auto& target : targets) {
    auto& words = read.emplace_back(target.size() + 1, mark);
    std::copy(target.begin(), target.end(), words.begin() + 1);
  }
  return read;
}

std::vector<std::vector<int>> words_to_write(const std::vector<std::vector<int>>& targets, int mark) {
  std::vector<std::vector<int>> written;
  for (const auto& target : targets) {
    auto& words = written.emplace_back(target.size() + 1, mark);
    std::copy(target.begin(), target.end(), words.begin());
  }
  return written;
}

int likeliest(const float* logits, std::size_t words) {
  return static_cast<int>(std::max_element(logits, logits + words) - logits);
}

}  // namespace attn::train
