#pragma once

#include <cstddef>
#include <vector>

namespace attn::train {

/// What a decoder reads to write each sentence: the mark and all words but the last.
std::vector<std::vector<int>> words_read(const std::vector<std::vector<int>>& targets, int mark);

/// What it is to write: the words and the mark.
std::vector<std::vector<int>> words_to_write(const std::vector<std::vector<int>>& targets, int mark);

/// The word with the largest logit, the first on ties.
int likeliest(const float* logits, std::size_t words);

}  // namespace attn::train
