#pragma once

#include <cstddef>
#include <optional>
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
Functions functions_of(const Texts& texts);

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

/// What became of translators as sentences grow (Bahdanau et al. 2014, figure 2, on the lab's own sentences):
/// the share of exact translations [model×length] that the training of the shipped models measured. Throws
/// attn::Error where a model has none, or of other lengths.
formula::View exact_by_length(Workbench& bench);

/// In which order the words of the target look at those of the source, by trained weights.
std::string about_learned_alignment(const attn::Event& weights);

/// "the the cat …" for each sentence, with a capital where its source has one.
std::string quoted(const attn::TokenBatch& batch, const attn::TokenBatch& sources);

}  // namespace lessons
