#pragma once

#include <optional>

#include "lessons/seq2seq/decoder.hpp"

namespace lessons {

/// What the decoder reads in greedy decoding.
struct GreedyReading {
  Tensor<3> start;    ///< the vector of <s> [batch×1×d_model], the same in each sample
  Tensor<2> vectors;  ///< of each word that may be written [vocabulary×d_model]
  std::size_t words_beyond_the_source = 1;  ///< that it may write
  const char* id = nullptr;                 ///< of the input that has the vectors, with <s> at the end
};

/// Both LSTMs and the attention between them in NumPy: the notes `earlier/code`, with what earlier lessons
/// taught, `code`, and `names/code`, which calls what that computes as the page does. The decoder makes
/// `steps` steps, of which the page walks through number t. Greedy decoding where there is something to read.
void show_seq2seq_code(Workbench& bench, const std::optional<GreedyReading>& greedy, std::size_t steps,
                       std::size_t t);

}  // namespace lessons
