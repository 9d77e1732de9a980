#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "attn/text/tokens.hpp"
#include "lessons/documents/document_run.hpp"
#include "lessons/workbench/model.hpp"
#include "lessons/workbench/plan.hpp"
#include "lessons/workbench/workbench.hpp"

namespace lessons {

/// What a decoder reads and writes in a run, and the words that it chooses from.
struct Texts {
  attn::TokenBatch reads{}, writes{};  ///< <s> and the target; the target and </s>
  std::vector<std::string> vocabulary{};
  std::size_t known = 0;   ///< words of the run or the model; further ones are numbered
  Tensor<2> words{};       ///< [batch×target]: `writes` by number, −1 where a shorter sentence has none
  Tensor<2> words_read{};  ///< the same of `reads`, </s> for <s>, of a decoder that writes by itself
};

/// Those of the plan, whose vectors are drawn. The vocabulary is the distinct words of the target and then
/// </s>, or of the source where there is no target, or those of the model. A given `output/W` or `output/b`
/// may have a whole vocabulary: the words of the run are its first columns and </s> is the last, or where the
/// input `words` is given it says the column of each word to write. Throws attn::Error where a given tensor
/// has too few columns.
Texts choose_texts(Workbench& bench);

/// What the document of a decoder calls by name: `{do reads}` and `{do writes}`, after which its rows are
/// named after these words, and the tensors `target_vectors` and `words_to_write`.
void add_texts(Functions& functions, const std::shared_ptr<const Texts>& texts);

/// The inputs of the lesson seq2seq under these options.
std::vector<Input> seq2seq_input_list(const Options& options);

}  // namespace lessons
