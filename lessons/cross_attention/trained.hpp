#pragma once

#include "lessons/documents/document_run.hpp"
#include "lessons/workbench/model.hpp"

/// What the lesson cross-attention shows of a trained transformer: one head of its decoder that aligns the
/// words, and beside it one of the same layer that does not.
namespace lessons {

/// Gives the lesson the rows of both sentences where cross-attention of the model reads them, the weights of
/// the head with the least alignment error rate and of the one of its layer with the highest, and these
/// rates. Throws attn::Error for a model that is no transformer.
void give_cross_attention(ModelInputs& inputs);

/// Whether the lesson shows a trained head.
bool shows_trained_heads(const Options& options);

/// The rates, an input beside those of the document.
Input error_rates_input();

/// What the document leaves to C++ there: the actions `error_rates` and `gold` (at which word both heads look
/// most, beside the links of the lab's grammar; only for one sentence, where the grammar has it with this
/// translation), and the texts `heads_of_layer`, `aligning_head` and `last_head`. Throws attn::Error where
/// the rates are not given.
void add_trained_heads(Functions& functions, Workbench& bench);

/// The lesson that is the document cross-attention.md.
const Lesson& cross_attention_lesson();

}  // namespace lessons
