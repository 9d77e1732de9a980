#pragma once

#include <string>
#include <vector>

#include "lessons/workbench/inputs.hpp"
#include "lessons/workbench/workbench.hpp"

namespace lessons {

/// What a decoder that is taught chooses from: the distinct words of the batch and then </s>.
std::vector<std::string> vocabulary_of_batch(const attn::TokenBatch& batch);

/// The input `mask` [target×source] where the source is padded: which words are real. `writes` are the words
/// of the target and </s>.
void show_source_mask(Workbench& bench, const attn::TokenBatch& writes);

/// The inputs of the lesson seq2seq under these options.
std::vector<Input> seq2seq_input_list(const Options& options);

}  // namespace lessons
