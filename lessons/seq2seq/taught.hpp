#pragma once

#include <string>
#include <vector>

#include "lessons/documents/document_run.hpp"
#include "lessons/workbench/inputs.hpp"
#include "lessons/workbench/workbench.hpp"

namespace lessons {

/// The lesson of the document seq2seq.md.
const Lesson& seq2seq_lesson();

/// The words that a decoder should write, by their column of `output/W`: of each sample, as many as it has.
using WordsToWrite = std::vector<std::vector<std::size_t>>;

/// The words that a decoder chooses from, by their column.
struct OutputWords {
  std::vector<std::string> vocabulary;
  WordsToWrite to_write{};  ///< of a decoder that is taught
  std::string note{};       ///< which columns are whose, where there are more than words of the batch
};

/// The distinct words of the batch and then </s>, or those of the model. A given `output/W` or `output/b` may
/// have a whole vocabulary: the words of the batch are its first columns and </s> is the last, or where the
/// input `words` is given it says the column of each word in `writes`. Throws attn::Error where a given
/// tensor has too few columns.
OutputWords output_words(Workbench& bench, const attn::TokenBatch& batch, const attn::TokenBatch& writes);

/// The input `words` [target]: −1 where a shorter sentence has none.
void show_words(Workbench& bench, const WordsToWrite& words);

/// The same, and formulas may speak of it.
void set_words(DocumentRun& run, const WordsToWrite& words);

/// From now on the decoder's rows are named after these words.
void label_target(DocumentRun& run, const attn::TokenBatch& batch);

/// The input `mask` [target×source], which the decoder's scores need where the source is padded: which words
/// are real. `writes` are the words of the target and </s>, after which the rows are named.
void set_source_mask(DocumentRun& run, const attn::TokenBatch& writes);

/// What the decoder reads: the vectors of these words.
formula::View vectors_of(Workbench& bench, const attn::TokenBatch& reads);

/// The inputs of the lesson seq2seq under these options.
std::vector<Input> seq2seq_input_list(const Options& options);

}  // namespace lessons
