#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "lessons/documents/document_run.hpp"
#include "lessons/seq2seq/taught.hpp"

namespace lessons {

/// What a decoder writes by itself: for each sample its words, as it writes them, and their numbers in the
/// vocabulary.
struct Written {
  std::vector<std::vector<std::size_t>> numbers{};
  attn::TokenBatch words{};
};

/// Greedy decoding: at every step the likeliest word (the first of equals) is written, and read at the next,
/// to </s> or until so many words more than the source has are written. The weights are tensors of the run,
/// and `vocabulary` has </s> at the end.
Written write_greedily(DocumentRun& run, const std::vector<std::string>& vocabulary);

/// The vectors that it reads [vocabulary×d_model]: in the place of </s>, which is never read, that of <s>.
Tensor<2> vectors_to_read(DocumentRun& run, const std::vector<std::string>& vocabulary);

/// Those of the words at each step, zeros behind the last one.
Tensor<3> vectors_at(const Tensor<2>& vectors, const WordsToWrite& words);

}  // namespace lessons
