#pragma once

#include <string>
#include <vector>

#include "attn/layers/recurrent_decoder.hpp"
#include "attn/text/tokens.hpp"
#include "lessons/workbench/workbench.hpp"

namespace lessons {

/// What the decoder of the lesson seq2seq reads, and what it is to write in the same step.
struct Writing {
  attn::TokenBatch reads{};               ///< <s> and then the words
  attn::TokenBatch writes{};              ///< the words and then </s>
  std::vector<std::string> vocabulary{};  ///< all that may be written: distinct words and then </s>
  std::vector<std::vector<std::size_t>>
      words{};  ///< `writes` by number in the vocabulary; without a target only
};

/// With a target its words, which are the vocabulary as well. Without one only <s> is read yet, and the
/// vocabulary are the words of the source.
Writing writing_of(const Plan& plan);

/// Fills in what the decoder reads and writes by itself: to </s>, or one word more than the source has.
void write_greedily(Workbench& bench, Writing& writing, const attn::LstmState& initial,
                    const attn::PreparedSource& source, const attn::RecurrentDecoderWeights& weights);

}  // namespace lessons
