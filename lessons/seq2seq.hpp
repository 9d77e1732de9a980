#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "attn/text/tokens.hpp"
#include "lessons/documents/document_run.hpp"
#include "lessons/workbench/inputs.hpp"
#include "lessons/workbench/model.hpp"
#include "lessons/workbench/workbench.hpp"

namespace lessons {

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

/// The words that a model trained for translation writes, and what it reads for them.
inline constexpr const char* target_embedding = "target/embedding";

/// Gives the lesson seq2seq the weights of a model that `attnlab train translation` wrote, and lets the
/// options that follow from them be as they were trained: how the decoder attends, both directions, the words
/// that it may write. Throws attn::Error for a model without attention.
void give_translation(ModelInputs& inputs);

/// The same sentences with <s> in front, as the decoder reads them.
attn::TokenBatch after_start(attn::TokenBatch batch);

/// Sentences without a word yet.
inline attn::TokenBatch nothing_read(std::size_t count) {
  return {std::vector<std::vector<std::string>>(count)};
}

/// Whether the decoder attends before its cell makes the step, and the cell reads the context: Bahdanau's.
inline bool attends_before_the_cell(const Options& options) {
  return options.attention == "bahdanau" || options.attention == "bahdanau-input";
}

/// Whether the lesson writes by itself with a model, and so needs the vectors of all words: the input
/// `target/embedding`.
bool reads_its_own_words(const Options& options);

/// Beside the alignment of a trained decoder, the links that the lab's grammar has between both sentences,
/// and what a model with another query looks at: the notes `gold` and `links` and the step
/// `other_query/weights`. weights [1×target×source]. Only for one sentence, and where the grammar knows it.
/// `writes` are the words of the target; with `is_greedy` the decoder chose them itself.
void show_gold(Workbench& bench, const Tensor<3>& weights, const std::vector<std::string>& writes,
               bool is_greedy);

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

/// What a decoder asks with: "old h", Bahdanau's, which is the state before the step; "old h, y" with the
/// word that it reads; or "new h".
std::string query_in_words(const std::string& attention);

/// The attention of another shipped model than the run's while it is made to write the same translation.
struct OtherQuery {
  std::string model;      ///< "translation-bahdanau"
  std::string attention;  ///< "bahdanau"
  Tensor<2> weights;      ///< [target×source], with a row for </s>
};

/// Of `translation-bahdanau`, or of `translation` where the run attends as bahdanau itself. The run has one
/// source, whose words both models know as they know those of `target`.
OtherQuery ask_otherwise(const Workbench& bench, const std::string& target);

/// What became of translators as sentences grow (Bahdanau et al. 2014, figure 2, on the lab's own sentences):
/// the input `exact_by_length` [model×length], a curve a model, and the note `by-length`. The figures are
/// those that the training of the shipped models measured. Throws attn::Error where a model has none, or of
/// other lengths.
void show_by_length(Workbench& bench);

/// Its declaration.
std::vector<Input> by_length_input_list();

/// In which order the words of the target look at those of the source, by trained weights.
std::string about_learned_alignment(const attn::Event& weights);

/// "the the cat …" for each sentence, with a capital where its source has one.
std::string quoted(const attn::TokenBatch& batch, const attn::TokenBatch& sources);

}  // namespace lessons
