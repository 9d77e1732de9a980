#pragma once

#include <optional>
#include <string>
#include <vector>

#include "attn/text/tokens.hpp"
#include "lessons/workbench/model.hpp"
#include "lessons/workbench/workbench.hpp"

namespace lessons {

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

/// Whether the lesson writes by itself with a model, and so needs the vectors of all words: the input
/// `target/embedding`.
bool reads_its_own_words(const Options& options);

/// Beside the alignment of a trained decoder, the links that the lab's grammar has between both sentences,
/// and what a model with another query looks at: the notes `gold` and `links` and the step
/// `other_query/weights`. Only for one sentence, and where the grammar knows it. `writes` are the words of
/// the target; with `is_greedy` the decoder chose them itself.
void show_gold(Workbench& bench, const Tensor<4>& weights, const std::vector<std::string>& writes,
               bool is_greedy);

}  // namespace lessons
